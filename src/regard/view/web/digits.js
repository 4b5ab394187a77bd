// Numbers with just the digits they can support; the same rules as regard.textbook.digits.

const power = (exponent) => Number(`1e${exponent}`);

export function writeNumber(value, digits) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return (0).toFixed(digits);
  return kindOf(value, digits) === "f" ? fixed(value, digits) : exponential(value, digits);
}

// A value that is sure to within noise: { text, tolerance }, with fewer digits where noise asks for it.
export function showNumber(value, digits, noise = 0) {
  if (!Number.isFinite(value)) return { text: writeNumber(value, digits), tolerance: 0 };
  const surest = noise === 0 ? -400 : Math.ceil(Math.log10(4 * noise));
  const within = (last) => ({ text: `0 within 1e${signed(last)}`, tolerance: power(last) / 2 });
  if (Math.abs(value) <= noise || value === 0) {
    const last = Math.max(-digits, surest);
    return last === -digits ? { text: writeNumber(0, digits), tolerance: power(last) / 2 } : within(last);
  }
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  const kind = kindOf(value, digits);
  const last = Math.max(kind === "f" ? -digits : exponent - digits, surest);
  if (last > exponent) return within(last);
  const plain = kind === "f" && last <= 0;
  return { text: plain ? fixed(value, -last) : exponential(value, exponent - last), tolerance: power(last) / 2 };
}

// Every digit that there is, as Python writes it.
export function exactNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return `${value}.0`;
  return String(value).replace(/e([+-])(\d)$/, "e$10$2");
}

function kindOf(value, digits) {
  const size = Math.abs(value);
  return size >= power(-digits) && size < 1e6 ? "f" : "e";
}

// JavaScript rounds a half away from 0, Python to the even digit; so halves are looked for, and cut where that is even.
const BEYOND = 40;

function fixed(value, digits) {
  return halfToEven(value.toFixed(digits), value.toFixed(Math.min(100, digits + BEYOND)), BEYOND);
}

function exponential(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  const [long, same] = value.toExponential(Math.min(100, digits + BEYOND)).split("e");
  const settled = same === exponent ? halfToEven(mantissa, long, BEYOND) : mantissa;
  return `${settled}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}

function halfToEven(rounded, long, beyond) {
  const cut = long.slice(0, -beyond).replace(/\.$/, "");
  return /^50*$/.test(long.slice(-beyond)) && "02468".includes(cut.slice(-1)) ? cut : rounded;
}

function signed(exponent) {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
