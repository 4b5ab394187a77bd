// Numbers with just the digits they can support; the same rules as regard.textbook.digits.

/** @param {number} exponent */
const power = (exponent) => Number(`1e${exponent}`);
const MAX_NOISE = 1e300; // a bound that overflowed says no more than this one

/** @param {number} value @param {number} digits */
export function writeNumber(value, digits) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return (0).toFixed(digits);
  return numberFormat(value, digits) === "f" ? fixed(value, digits) : exponential(value, digits);
}

// A value that is sure to within noise: { text, tolerance }, with fewer digits where noise asks for
// it.
/** @param {number} value @param {number} digits @param {number} [noise] */
export function showNumber(value, digits, noise = 0) {
  if (!Number.isFinite(value)) return { text: writeNumber(value, digits), tolerance: 0 };
  const sure = noise < MAX_NOISE ? noise : MAX_NOISE;
  const surest = sure === 0 ? -400 : Math.ceil(Math.log10(4 * sure));
  /** @param {number} last */
  const within = (last) => ({ text: `0 within 1e${signed(last)}`, tolerance: power(last) / 2 });
  if (Math.abs(value) <= sure || value === 0) {
    const last = Math.max(-digits, surest);
    return last === -digits
      ? { text: writeNumber(0, digits), tolerance: power(last) / 2 }
      : within(last);
  }
  // The largest that it may be: just below a power of ten it is written as if it had reached it.
  const most = Math.abs(value) + sure;
  const exponent = Math.floor(Math.log10(most));
  const kind = numberFormat(most, digits);
  const last = Math.max(kind === "f" ? -digits : exponent - digits, surest);
  if (last > exponent) return within(last);
  const plain = kind === "f" && last <= 0;
  const [least, largest] = [value - sure, value + sure].map((one) =>
    plain ? fixed(one, -last) : exponential(one, exponent - last),
  );
  // Rounded to the nearest; where the noise leaves two of them open, to the even one.
  const even = "02468".includes(least.split("e")[0].slice(-1));
  return { text: least === largest || even ? least : largest, tolerance: power(last) / 2 };
}

// A number that is reckoned with: as showNumber, and 0 where no digit is sure.
/** @param {number} value @param {number} digits @param {number} [noise] */
export function operandNumber(value, digits, noise = 0) {
  const text = noise > 0 ? showNumber(value, digits, noise).text : writeNumber(value, digits);
  return text.includes("within") ? "0" : text;
}

// A text as the page shows it: with a real minus sign before its numbers.
/** @param {string} text */
export function withMinus(text) {
  return text.replace(/(?<![\p{L}\p{N}])-(?=\d|inf)|(?<=\de)-(?=\d)/gu, "−");
}

/** @param {number} value @param {number} digits */
export function signedNumber(value, digits) {
  return withMinus(operandNumber(value, digits));
}

// A number as people write it: its digits, and the power of ten that multiplies them ("" for none).
/** @param {number} value @param {number} digits @returns {[string, string]} */
export function powerParts(value, digits) {
  const [written, exponent = ""] = writeNumber(value, digits).split("e");
  return [withMinus(written), exponent && withMinus(String(Number(exponent)))];
}

// Every digit that there is, as Python writes it.
/** @param {number} value */
export function exactNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return `${value}.0`;
  return String(value).replace(/e([+-])(\d)$/, "e$10$2");
}

/** @param {number} value @param {number} digits */
function numberFormat(value, digits) {
  const size = Math.abs(value);
  return size >= power(-digits) && size < 1e6 ? "f" : "e";
}

// JavaScript rounds a half away from 0, Python to the even digit; so halves are detected, and cut
// where that is even.
const EXTRA_DIGITS = 40;

/** @param {number} value @param {number} digits */
function fixed(value, digits) {
  return halfToEven(
    value.toFixed(digits),
    value.toFixed(Math.min(100, digits + EXTRA_DIGITS)),
    EXTRA_DIGITS,
  );
}

/** @param {number} value @param {number} digits */
function exponential(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  const [long, same] = value.toExponential(Math.min(100, digits + EXTRA_DIGITS)).split("e");
  const rounded = same === exponent ? halfToEven(mantissa, long, EXTRA_DIGITS) : mantissa;
  return `${rounded}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}

/** @param {string} rounded @param {string} long @param {number} beyond */
function halfToEven(rounded, long, beyond) {
  const cut = long.slice(0, -beyond).replace(/\.$/, "");
  return /^50*$/.test(long.slice(-beyond)) && "02468".includes(cut.slice(-1)) ? cut : rounded;
}

/** @param {number} exponent */
function signed(exponent) {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
