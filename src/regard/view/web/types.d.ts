// Types of the objects that views share, for the type checker alone; those of what Python answers
// are generated (tools/answers.d.ts).

type Span = number[]; // from, to
type SideName = "query" | "key";
type Chosen = { queries: number[]; keys: number[] };

// -- Elements (lib/dom.js)

type Child = Node | string | number | boolean | null | undefined | readonly Child[];

// Listeners of an element. `target` is the element itself: fields and buttons, which have no
// children that could be it.
type Listeners<T> = {
  [K in keyof HTMLElementEventMap]?: (
    event: HTMLElementEventMap[K] & { target: T; currentTarget: T },
  ) => unknown;
};

interface Properties<T> {
  on?: Listeners<T>;
  style?: Record<string, string | number>;
  [name: string]: unknown;
}

// What "button.word" makes.
type TagOf<T extends string> = T extends `${infer Tag}.${string}` ? Tag : T;
type HtmlOf<T extends string> =
  TagOf<T> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[TagOf<T>] : never;
type SvgOf<T extends string> =
  TagOf<T> extends keyof SVGElementTagNameMap ? SVGElementTagNameMap[TagOf<T>] : never;

type FieldEvent = Event & { target: HTMLInputElement };
type SelectEvent = Event & { target: HTMLSelectElement };
type CardEvent = Event & { currentTarget: HTMLElement };

// -- The address (lib/state.js)

type Fields = Record<string, unknown>;

interface State {
  view: string;
  get(name: string, otherwise?: string): string;
  number(name: string, otherwise?: number): number;
  set(changes: Fields, step?: boolean): void;
  go(view: string, changes?: Fields): void;
  follow(listener: (changed: Set<string>) => void): () => void;
  address(): string;
  start(): void;
}

// Fills root; may return what is to be called when the view is left.
type ShowView = (
  root: HTMLElement,
  state: State,
  source: Source,
) => Promise<(() => void) | undefined>;

// -- Where a view gets its data from; lib/api.js says what each function gives.

type Ask = (path: string, fields: unknown, options?: { signal?: AbortSignal }) => Promise<Response>;

interface Source {
  views: string[];
  page: {
    version: string;
    files: string[];
    trainings?: string[];
    model?: string | null; // that stays loaded
    address?: string | null;
    pdf?: boolean; // whether the server can write one
  };
  live: boolean;
  embedded?: Embedded;
  bytesAt?(blob: Span): Promise<Uint8Array<ArrayBuffer>>;
  reading(
    sentence: string,
    options?: {
      quick?: boolean;
      signal?: AbortSignal;
      at?: { layer: number; head: number };
    },
  ): Promise<PageReading>;
  weights(reading: PageReading, choice: HeadChoice): Promise<Table>;
  thumbnails(reading: { parts: Part[] }, part: string): Promise<Thumbnails>;
  steps(choice: Fields): Promise<Inputs>;
  layer?(choice: Fields): Promise<LayerData>;
  nextWords?(choice: Fields): Promise<NextWords>;
  learn(page: string): Promise<Facts>;
  experiment?(sentence: string, changes: Change[]): Promise<Experiment>;
  effects?(fields: Fields): Promise<EffectsAnswer>;
  practice?(): HTMLElement;
  forget?(): void;
  ask: Ask;
}

// What a page that holds its own data has in it (view/page/embed.py).
interface Embedded {
  version: string;
  views: string[];
  address?: string;
  reading?: PageReading;
  tables?: Record<string, StoredTables>;
  steps?: Record<string, Span>;
  layers?: Record<string, Span>;
  next?: Span;
  learn?: Record<string, Facts>;
  run?: EmbeddedRun;
  tried?: Outcome[];
}

interface StoredTables {
  form: string;
  rows: number;
  columns: number;
  blobs: Record<string, Span>;
  thumbnails: { rows: number; columns: number; blob: Span };
}

// Before the bytes of a layer (view/page/path_data.py).
interface LayerHeader {
  matrices: Record<string, number[]>; // rows, columns, where it starts
  parameters: Record<string, { shape: number[]; kind: string; starts: number[] }>;
}

// A picture that a watched model was given. In each part that attends to it a key token is one of
// its cells (row * columns + column), or none (below 0).
interface PageImage {
  picture: string; // a data URI; empty where the run has none
  width: number;
  height: number;
  area: number[]; // left, top, right, bottom of the grid, in fractions of the picture
  parts: Record<string, { rows: number; columns: number; cells: number[] }>;
}

interface HeadChoice {
  part: string;
  show: string;
  layer: number;
  head: number;
}

// Weights between tokens: dense, or with `starts` sparse.
interface Table {
  rows: number;
  columns: number;
  weights: Float32Array;
  starts?: Uint32Array;
  keys?: Uint16Array | Uint32Array;
  rest?: Float32Array;
}

interface Thumbnails {
  rows: number;
  columns: number;
  weights: Float32Array;
}

// Weights as pictures draw them.
interface Grid {
  rows: number;
  columns: number;
  weights: Float32Array;
  rest: Float32Array | null | undefined;
  queries: string[];
  keys: string[];
}

// -- The Look view

// What was asked and what the server said.
interface ReadData {
  turn: number; // counts sentences: an answer to an earlier one is dropped
  pending: AbortController | null; // of the sentence that is being read
  sentence: string | null; // being read, or read
  reading: PageReading | null; // the latest
  base: PageReading | null; // the sentence without changes
  experiment: ExperimentState | null;
  requested: string; // what is being fetched for `shown`
  shown: Shown | null; // what the pictures are drawn from
  refused?: string; // what the address named and the reading has not
  nouns: { sentence: string; positions: number[]; isOwn: boolean } | null; // that have colours
  why: Why | null; // what is explained
  tried: Tried[]; // experiments, the latest first
}

// A line that is explained on the stage (read/why.js), and what it is made of.
interface Why {
  shown: Shown;
  link: Link;
  parts: WeightParts;
  tokens: number[][]; // of each word, the one with the largest weight first
}

type WhyStep = "scores" | "scaled" | "weights" | "try";

// Bars under the words: heights are shares of their room, of which `up` is above their line.
interface WhyBars {
  step: WhyStep;
  up: number;
  heights: number[];
  texts: string[];
}

interface BarTarget {
  position: number;
  x: number;
  width: number;
  line: number;
  height: number;
  text: string;
  name: string;
}

interface WhyPanel {
  root: HTMLElement;
  play(): void; // the steps follow each other by themselves
  draw(shown: Shown): void;
  close(): void;
}

interface Tried {
  sentence: string | null;
  text: string; // the changes as the address has them
  changed: string[];
  after: Run;
  same: boolean;
  outcome?: Outcome; // in a saved file
}

// One of the experiments that were tried, as it is listed.
interface TriedItem {
  text: string; // the changes as the address has them
  changed: Child;
  outcome: Child;
  isFixed?: boolean; // it cannot be run again
  more?: Child;
}

// The weights on screen, and what they are of.
interface Shown {
  request: string; // what they were made from
  reading: PageReading;
  part: Part;
  choice: HeadChoice;
  grid: Grid;
}

// What is chosen or pointed at, beside what the address says.
interface ReadSelection {
  chosen: Chosen; // what is drawn: pointed at, else pinned
  hovered: Chosen | null;
  pointed: number | null; // the word of the sentence under the pointer
  remembered: string[] | null; // words that were chosen before others were typed around them
}

interface ReadElements {
  root: HTMLElement;
  scene: FirstScene;
  questions: HTMLElement;
  tried: HTMLElement;
  why: WhyPanel;
  effects: HTMLElement;
  notes: HTMLElement;
  drawnFrom: DrawnFrom;
}

// What parts of the view were drawn from last: they are drawn again only when it changes.
interface DrawnFrom {
  questions?: string;
  effects?: string;
  effectCells?: EffectCell[];
}

interface ReadView {
  state: State;
  source: Source;
  data: ReadData;
  selection: ReadSelection;
  elements: ReadElements;
}

interface HeadPlace {
  part: string;
  layer: number;
  head: number;
}

type EffectCell = HeadPlace & { button: HTMLButtonElement };

// The link that questions are about.
interface Link {
  query: number;
  key: number;
  rival: number | undefined;
  weight: number;
}

// The line of a token in its layers (run/flow.js).
interface FlowModel {
  tokens: string[];
  row: number;
  shares: Float64Array; // of each token before the first layer
  choose(row: number): void;
}

// Queries and keys of a head in a plane (run/space.js).
interface PlaneDot {
  side: SideName;
  token: string;
  at: number;
  point: number[];
}

interface Plane {
  dots: PlaneDot[];
  share: number; // of their variance
  width: number;
  weights: Matrix;
}

interface PlaneLabel {
  x: number;
  y: number;
  anchor: "start" | "end" | "middle";
}

interface LabelBox {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

// Every number on the way to a weight (read/why_numbers.js).
interface WeightParts {
  position: number;
  key: number;
  width: number;
  scaled: Float64Array;
  vector: Float64Array;
  keyVector: Float64Array;
  scores: Float64Array;
  weights: Float64Array;
  sum: number;
}

// The tree of a score, and the terms of one of its branches.
interface Because {
  state: State;
  ask(path: number[]): Promise<BecauseTerms>;
}

type ChangeName = "redirect" | "knock_out" | "ablate";
type ChangeField = "word" | "to" | "part" | "layer" | "head";

interface Change {
  change: ChangeName;
  word?: number;
  to?: number;
  part?: string;
  layer?: number;
  head?: number;
}

interface Experiment extends Outcome {
  reading: PageReading;
}

type ExperimentState = { running: true } | { error: unknown } | Experiment;

// Logits by part, layer and head.
interface EffectsAnswer {
  of: string;
  against: string;
  logit_difference: number;
  direct: Record<string, number[][]>;
  effect: number[]; // of one layer, where that was asked for
}

type Effects = Omit<EffectsAnswer, "effect"> & { effect: Record<string, number[][]> };

interface EffectsRequest {
  base: PageReading;
  words: string[]; // of its translation
  fields: EffectFields;
}

// What fills the grids of effects, a layer at a time.
interface EffectsRun {
  parts: Part[];
  made: Effects;
  ask(more: Fields): Promise<EffectsAnswer>;
  progress(done: number, all: number): void;
  isWanted(): boolean;
}

interface EffectFields {
  sentence: string;
  of: number;
  against: string | null;
}

type FirstScene = ReturnType<typeof import("./read/scene.js").firstScene>;

interface FieldParts {
  state: State;
  fit(): void;
  handlers: SceneHandlers;
  showPlain(text: string): void;
  say(message: HTMLElement | null): void;
}

// What the first scene calls (read/scene.js).
interface SceneHandlers {
  others(): void; // the other heads are asked for, in the Map
  point(position: number | null): void; // a word of the sentence is pointed at
  source(positions: number[] | null): void; // the words that a French one came from
  strike(position: number): void;
  look(position: number): void; // the word that looks is made to look there
  soon(sentence: string): void; // a sentence that may be asked for next
  leave(): void; // before another sentence is read
  stale(): void; // what is shown is no longer of what is typed
  empty(isEmpty: boolean): void;
  again(): void; // what is typed is once more what was read
}

interface StageHandlers {
  point(position: number | null): void;
  source(positions: number[] | null, said: string): void;
  strike?(position: number): void;
  look?(position: number): void;
  soon?(sentence: string): void;
  ending?(sentence: string): void;
}

interface TwoEndings {
  start: string;
  endings: string[];
  meant: string[]; // the noun that each ending means
}

// A word in the scene, in pixels of its stage.
interface WordPlace {
  x: number;
  top: number;
  bottom: number;
  line: number; // the middle of its line of text
  half?: number; // of the height of that line
}

interface CurveFrame {
  height: number; // of the highest arc
  gap: number; // from the middle of a line of text to the middle of the gap above it
  margin: number; // where brackets run
}

// Positions of French words are those of the translation; below 0 is (start).
interface StageLink {
  query: number;
  key: number;
  weight: number;
}

interface StageModel {
  links: StageLink[]; // the strongest first
  nouns: number[]; // the two that have colours
  asking: { english: number[]; french: number[] };
  struck: number[];
  frenchOf: Map<number, number>; // the colour of French words
  queryIsFrench: boolean;
  keyIsFrench: boolean;
  canRedirect: boolean;
  isWhole: boolean; // no word is chosen: links of all
  isOff: boolean; // the head is switched off
  why: WhyBars | null;
}

interface StageLine {
  path: SVGPathElement;
  points: number[][] | null;
  width: number;
}

type ArcTarget = StageLink & {
  path: string;
  apex: { x: number; y: number };
  foot: { x: number; y: number };
  colour: number;
  start: number[];
  width: number;
  opacity: number;
};

interface StageState {
  root: HTMLElement;
  arcs: SVGSVGElement;
  bars: ReturnType<typeof import("./read/bars.js").barLayer>;
  english: HTMLElement;
  french: HTMLElement;
  former: HTMLElement;
  handlers: StageHandlers;
  words: Map<number, HTMLElement>;
  frenchWords: Map<number, HTMLElement>;
  made: string; // what the words were made from
  size: string; // that the lines were drawn for
  translated: PageReading | null;
  model: StageModel | null;
  lines: StageLine[];
  stop(): void;
  pointed: number | null; // the French word that is pointed at
}

interface SceneModel {
  words: { name: string; position: number }[];
  asking: { name: string; position: number } | null; // of these
  explained: string | null; // the word that the explained line leads to
  tried: string | null; // the word that it could lead to, in the reader's turn
  heads: number;
  note: Child;
  stage: StageModel;
  before: Run | null;
  after: Run | null;
  head: string; // what the head usually does, and what it does here
}

type QuestionModel = Pick<SceneModel, "words" | "asking" | "heads" | "explained" | "tried">;

// -- The Steps view

interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
}

// Numbers as colours (lib/draw.js): most has the strongest.
interface Strips {
  rows: number;
  columns: number;
  values: Float64Array | number[];
  most: number;
  label?: string;
}

// What the Steps view starts from; steps/attend.js says what each field means.
interface Inputs {
  title: string;
  about: string;
  note?: string;
  queries: string[];
  keys: string[];
  causal: boolean;
  scale: number | null;
  position: boolean;
  matrices: Record<string, Matrix>;
  x_error?: number;
  example?: Example;
  part?: string;
  layer?: number;
  head?: number;
  layers?: number;
  heads?: number;
}

// Every stage of one computation.
interface Stages {
  queries: string[];
  keys: string[];
  scale: number;
  width: number;
  causal: boolean;
  inputs: Inputs;
  stages: Record<string, Matrix>;
  parameters: Record<string, Matrix>;
  xError: number;
}

// What the stages around a head start from; steps/layer_path.js says what each field means.
interface LayerData {
  part: string;
  layer: number;
  layers: number;
  heads: number;
  tokens: string[];
  words: string[];
  word_of_token: number[];
  ids: number[];
  vocabulary: number;
  positions: boolean;
  epsilon: number;
  matrices: Record<string, Matrix>;
  parameter(name: string): Matrix | null;
}

interface NextWords {
  tokens: string[];
  vocabulary: number;
  finished: boolean;
  ids: number[];
  names: string[];
  candidates: number[][];
  chosen: number[];
  logsumexp: number[];
  epsilon: number;
  matrices: Record<string, Matrix>;
  parameter(name: string): Matrix | null;
}

// A number, and how far it may lie from the exact one.
interface Measured {
  value: number;
  noise: number;
}

// An expression: operands, the rule that makes the value of them, how to write it, where they
// stand; `then` is the same value once more, in a shorter way.
interface Expression {
  formula: string;
  operands: Measured[];
  operandCells: Operand[];
  rule(numbers: number[]): number;
  write(texts: string[]): string;
  note?: string;
  then?: Pick<Expression, "operands" | "rule" | "write"> | null;
  terms?: Explained["terms"];
}

type ExplainCell = (path: LayerPath, row: number, column: number, stage: string) => Expression;
type ExplainStage = (steps: Stages, row: number, column: number, stage: string) => Expression;
type StageBound = (steps: Stages, stage: string, matrix: Matrix) => Matrix;

// How a cell was made: the sentence, its operands, and the terms of its sum where it is one.
interface Explained {
  cell: string;
  formula: string;
  line: string;
  value: number;
  operands: Operand[];
  terms?: { left: Term; right: Term; extra?: [string, number][] } | null;
}

interface Term {
  name: string;
  values: Float64Array;
}

// Every stage around one head by name, worked out on first use.
interface LayerPath {
  layer: LayerData;
  steps: Stages;
  names: string[];
  matrix(name: string): Matrix;
  parameters(name: string): string[];
  parameter(name: string): Matrix | null;
}

interface Operand {
  stage: string;
  row: number | null;
  column: number | null;
}

interface Cell {
  stage: string;
  row: number;
  column: number;
}

// Goes to a stage, a cell or another head; card is what was clicked.
type OpenStage = (choice: StageChoice, card?: Element | null) => void;

interface StageChoice {
  stage?: string | null;
  cell?: string | null;
  part?: string;
  layer?: number;
  head?: number;
}

interface StepsView {
  root: HTMLElement;
  state: State;
  source: Source;
  turn: number;
  wide: Set<string>; // stages that are shown in full
  stale: Set<string>; // fields whose change is not drawn yet
  inputs: Inputs; // this and the next two are there when anything is drawn
  before: Stages; // the computation as it is
  now: Stages; // as the switches have it
  isChanged: boolean;
  chosen: Cell | null;
  chosenIn: Stages | null; // the computation, without switches, that it was chosen in
  operands: Operand[];
  stage: string | null; // the one that is opened; empty in the overview
  layer: LayerData | null;
  path: LayerPath | null; // as the switches have it
  pathBefore: LayerPath | null;
  next: NextWords | null;
  nextRow: number; // the position whose next word is shown first
  thumbs: Map<string, Strips & { from: Passage | null }>; // of the overview's cards, as drawn last
  pictures: Map<string, Strips>; // of large matrices, as drawn last
  observer: ResizeObserver | null;
  card: DOMRect | null; // of the card that was clicked
  overviewTop: number | null; // how far the overview was scrolled when a stage was opened
  heatTimer: number;
  crumbs: HTMLElement;
  map: HTMLElement;
  where: HTMLElement; // around crumbs and map
  origin: HTMLElement;
  switches: HTMLElement;
  saying: HTMLElement; // around statement and changed
  statement: HTMLElement;
  changed: HTMLElement;
  flow: HTMLElement;
  claims: HTMLElement;
  why: HTMLElement;
}

type StepsStart = Omit<StepsView, "inputs" | "before" | "now">;

// A Steps view of a head within its model.
type PathView = StepsView & { path: LayerPath; pathBefore: LayerPath };

// A line of the overview, and where an end of it lies; height is that of its middle.
interface Wire {
  from: Element;
  to: Element;
  kind: string;
}

type WireBox = ReturnType<typeof import("./steps/overview.js").boxIn>;

// The style of a cell or a bar that passes over.
type Look = Pick<CSSStyleDeclaration, "background" | "color" | "left" | "width">;

// Numbers from which a picture passes over to others.
type Passage = Pick<Strips, "values" | "most">;

// A matrix as a table (steps/matrix.js).
interface ShownMatrix {
  name: string;
  matrix: Matrix;
  rowNames: string[];
  columnNames: string[];
  before: Matrix | null; // as it was
  shaded: boolean;
  most: number;
  wide: boolean; // shown whole
  focus: [number, number] | null; // shown where others are left out
  pick(row: number, column: number): void;
  markedAs(row: number, column: number): string | null;
  edit: ((row: number, column: number, field: HTMLInputElement) => void) | null;
}

interface ValueBar {
  view: StepsView;
  name: string;
  row: number;
  at: number;
  most: number;
  pick(stage: string, key: number): void;
}

// What changes a computation.
interface Switches {
  divide?: boolean;
  temperature?: number;
  causal?: boolean | null; // null: as given
}

type Go = (event: CardEvent) => void;
type Fill = "identity" | "random" | "zero"; // what own matrices are filled with
type OwnMatrix = "x" | "w_query" | "w_key" | "w_value";

// The reader's own numbers, as the address holds them.
interface OwnNumbers {
  words: string[];
  x: number[][];
  w_query: number[][];
  w_key: number[][];
  w_value: number[][];
}

// -- The run view

interface RunAbout {
  mixers?: MixerLayer[]; // where they were watched
}

// A layer without a softmax, as "print" shows it; with a problem it has nothing more.
interface MixerLayer {
  path: string;
  kind: string;
  problem?: string;
  width?: number;
  cancelled?: number[]; // of each head
}

// Signed shares (heads, rows, tokens) of such a layer, and which tokens the rows are of.
interface MixerRows {
  rows: number[];
  shape: number[];
  values: Float32Array;
}

interface MixersPanel {
  root: HTMLElement;
  show(run: RunSource): Promise<void>;
}

interface MapSize {
  queries: number;
  keys: number;
  least: number[]; // queries and keys of the smallest cell
}

interface RunChoice {
  part: string;
  layer: number;
  head: number;
}

// A row or a column; known is "all", "largest" (what is left has rest together) or "blocks".
interface RunLine {
  weights: Float32Array;
  known: string;
  rest: number;
}

interface RunSource {
  about: RunAbout;
  text(number: number): Promise<RunText>;
  heads(): Promise<RunRanking>;
  link(choice: RunChoice): Promise<TellingLink | null>;
  thumbnails(part: string): Promise<Thumbnails>;
  region(choice: RunChoice, request: RegionRequest): Promise<Region>;
  row(choice: RunChoice, query: number): Promise<RunLine>;
  column?(choice: RunChoice, key: number): Promise<RunLine>;
  mixer?(number: number): Promise<MixerRows>;
  weights?(part: string, query: number, key: number): Promise<number[][]>; // layer, head, weight
  reading?: PageReading; // of a sentence
  notes?(): string[]; // what has to be said about the weights that were asked for last
}

// A picture of a sentence in place of its map.
interface RunPicture {
  root: HTMLElement;
  show(model: {
    source: Source;
    reading: PageReading;
    part: Part;
    choice: RunChoice;
    row: number;
  }): Promise<void>;
}

interface EmbeddedRun {
  about: RunAbout;
  texts: RunText[];
  ranking: RunRanking;
  pairs: number; // best keys of each query
  parts: {
    heads: (RegionHeader & { blob: Span })[][];
    best: Span[][];
    thumbnails: { shape: number[]; blob: Span } | null;
  }[];
}

interface RunView {
  root: HTMLElement;
  state: State;
  source: Source;
  turn: number; // counts runs: an answer about an earlier one is dropped
  run: RunSource | null;
  shownRun: RunSource | null; // whose texts are shown
  lineRun: RunSource | null; // that the line is of
  ranking: RunRanking;
  part: RunPart;
  layer: RunLayer;
  choice: RunChoice;
  texts: Record<SideName, RunText | null>;
  row: number | null; // the query that is chosen
  also: number[]; // others beside it
  key: number | null; // what it is compared with, or the key that is chosen
  isColumn: boolean; // whether who looks at the key is shown
  line: RunLine | null;
  before: RunLine | null; // the same of the run without changes
  wanted: string; // what the line is asked for
  links: Map<string, number> | null; // the weight from row to key in every head
  peek: { place: RunChoice; line: RunLine } | null; // the head that is pointed at
  peekTimer: number;
  addressTimer: number;
  pointed: number | null;
  seen: Span | null; // tokens in sight
  isPicked: boolean; // a row was chosen on the map
  found: Span | null;
  searched: { text: RunText; whole: string; ends: Float64Array; at: number } | null;
  panes: Record<SideName, TextPane>;
  map: ReturnType<typeof import("./run/map_panel.js").mapPanel>;
  pictures: ReturnType<typeof import("./run/ways.js").sentencePictures>;
  mixers: MixersPanel;
  heads: ReturnType<typeof import("./run/heads_list.js").headsList>;
  list: ReturnType<typeof import("./run/row_list.js").rowList>;
  images: ReturnType<typeof import("./run/image_overlay.js").imageOverlay>;
  live: ReturnType<typeof import("./run/live.js").liveModel> | null;
  statement: HTMLElement;
  about: HTMLElement;
  trouble: HTMLElement;
  title: HTMLElement;
  tools: HTMLElement;
  missing: HTMLElement;
  legend: HTMLElement;
  cursor: HTMLElement;
  notes: HTMLElement;
  findCount: HTMLElement;
  table: HTMLDetailsElement;
  tableBox: HTMLElement;
  textColumn: HTMLElement;
}

type TextPane = ReturnType<typeof import("./run/text_pane.js").textPane>;

interface TextLink {
  from: number;
  to: number;
  weight: number;
}

interface ArcLine {
  path: SVGPathElement;
  points: number[][] | null;
  width: number;
}

interface ArcHandlers {
  placeOf(token: number): WordPlace | null;
  frame(): CurveFrame & { isLarge: boolean };
  drop?(token: number): void;
  aim?(token: number | null): void;
}

interface TextHandlers {
  drop?(token: number): void; // the line of the chosen token was dragged there
  point(token: number | null): void;
  choose(token: number, event: MouseEvent): void;
  moved(first: number, last: number): void; // tokens in sight
  key(event: KeyboardEvent): void;
}

interface TextAbout {
  generated: number | null;
  patches: Map<number, string> | null; // names of tokens that are patches of an image
}

// How a text is shaded: weights of its tokens, the largest, marks by token ("asking", "aimed", ...),
// and what is said of a token that is pointed at.
interface TextModel {
  weights: Float32Array | null;
  most: number;
  marks: Map<number, string>;
  links: TextLink[]; // lines to draw, the strongest first
  isPeek: boolean; // whether a head is only pointed at
  tell(token: number): string;
}

interface TextState {
  root: HTMLElement; // what scrolls
  frame: HTMLElement; // around it
  arcs: ReturnType<typeof import("./run/text_arcs.js").textArcs>;
  body: HTMLElement;
  tag: HTMLElement;
  lines: HTMLElement;
  handlers: TextHandlers;
  text: RunText;
  about: TextAbout;
  starts: number[]; // the token that each block begins in
  offsets: number[]; // and where in it
  heights: Float64Array;
  tops: Float64Array;
  measured: Uint8Array;
  drawn: Map<number, HTMLElement>;
  spans: Map<number, HTMLElement[]>; // of each token that is drawn
  model: TextModel | null;
  width: number;
  seen: Span;
  pointed?: number | null;
}

interface HeadsListHandlers {
  choose(place: RunChoice): void;
  hover(place: RunChoice | null): void;
  arrange(by: string): void;
  name(side: SideName, position: number): string;
}

interface HeadsListModel {
  part: string;
  heads: RunHead[];
  by: string;
  links: Map<string, number> | null;
  linkName: string; // of the order by the weight from the row to the key; empty without one
  choice: RunChoice;
  numberOf(head: RunHead): number; // of its thumbnail
  thumbnails(): Promise<Thumbnails>;
}

interface RowListHandlers {
  go(position: number): void;
  aim(position: number): void;
  point(position: number | null): void;
}

interface RowModel {
  line: RunLine;
  other: RunLine | null; // before a change
  text: RunText | null;
  heading: Child;
  aimed: number | null;
  wholeName: boolean; // whether the line sums to 1
}

interface LiveState {
  about: ModelAbout | null;
  answer: ModelAnswer | null;
  base: RunSource | null; // the run without changes
  baseOf?: string; // and what it is of
  key: string;
  tried: Pick<ModelAnswer & { text: string }, "text" | "changed" | "next" | "same">[];
  pending: AbortController | null;
  text: string; // of the address, as the field last showed it
}

// The map of a head.

interface MapWindow {
  rows: Span;
  columns: Span;
}

type Region = Omit<RegionHeader, "received" | "entropy"> & {
  values: Float32Array;
  received: Float32Array | null;
  entropy: Float32Array | null;
};

type Patch = Region & {
  most: number; // the weight of the strongest shade
  isClipped: boolean;
  pixels: HTMLCanvasElement;
  repaint(): void;
};

interface RegionRequest {
  rows: Span;
  columns: Span;
  cells: number[];
  thorough: boolean;
  signal: AbortSignal;
}

// Where the map lies on its canvas, in pixels.
interface MapLayout {
  left: number;
  top: number;
  side: number;
  down: number;
  words: boolean;
  width: number;
  height: number;
}

// Pixels of positions.
interface MapScale {
  x(key: number): number;
  y(query: number): number;
}

interface MapMarks {
  row: number | null;
  column: number | null;
  seen: Span | null; // keys in sight in the text
}

interface MapModel extends MapMarks {
  view: MapWindow;
  patches: Patch[];
  at: number[] | null;
  nameAt(side: SideName, position: number): string;
}

interface MapHandlers {
  pick(at: number[]): void;
  point(at: number[] | null): void;
  scroll(key: number): void;
  nameAt(side: SideName, position: number): string;
}

interface MapMoves {
  moveTo(window: MapWindow): void;
  zoom(factor: number, about?: number[]): void;
  pick(at: number[]): void;
  point(at: number[] | null): void;
}

interface MapPanelState {
  state: State;
  handlers: MapHandlers;
  canvas: HTMLCanvasElement;
  frame: HTMLElement;
  handle: HTMLElement;
  what: HTMLElement;
  run: RunSource | null;
  choice: RunChoice | null;
  size: MapSize;
  window: MapWindow;
  layout: MapLayout;
  named: boolean;
  patches: Patch[];
  base: Patch | null; // of the full map
  at: number[] | null; // query and key under the pointer
  marked: MapMarks;
  request: { window: MapWindow; choice: RunChoice | null } | null;
  pending: AbortController | null;
  thorough: boolean;
  rest: number; // timer
  paint(): void;
}

// -- The Learn view

type Paragraph = string | { when?: string; unless?: string; text: string };

interface CoursePage {
  name: string;
  title: string;
  appendix?: boolean;
  formula?: string;
  text: Paragraph[];
  ask: string;
  choices?: string[];
  answer: Paragraph[];
  open: [view: string, fields: string[] | Fields, label: string, more?: Fields];
}

// One thing on the stage; a mark of the same id moves from one scene to the next.
interface StageMark {
  id: string;
  tag: "text" | "rect" | "path" | "circle";
  at: Record<string, number>;
  d?(at: Record<string, number>): string;
  text?: string;
  class?: string;
  attributes?: Record<string, string | number>;
  on?: Record<string, (event: Event) => void>;
}

interface HeldMark {
  node: SVGElement;
  mark: StageMark;
  at: Record<string, number>;
}

interface StageTable {
  heads: string[];
  rows: string[][];
}

interface StageScene {
  marks: StageMark[];
  caption: Child;
  table?: StageTable;
}

type FormulaPart = string | FormulaElement;
interface FormulaElement extends Array<FormulaPart> {
  0: string; // its tag, with a class after a point
}

interface ColumnOptions {
  top: number;
  bottom: number;
  most: number;
  least?: number;
  text(value: number): string;
}

interface RangeKnob {
  min: number;
  max: number;
  step: number;
  value: number;
  told(value: number): string;
  change(value: number): void;
}

// What the reader can set in a scene, by name.
type Knobs = Record<string, any>;
type ChangeKnobs = (changes: Knobs, moving?: boolean) => void;

interface StageView {
  width: number;
  height: number;
  answered: boolean;
  knobs: Knobs;
  change: ChangeKnobs;
}

// The middles of the words, the height at which lines end, and how they are drawn.
type PlaceOfArcs = [
  middles: number[],
  y: number,
  view: StageView,
  options?: { id?: string; down?: boolean; most?: number },
];

interface LessonScene {
  knobs(facts: Facts): Knobs;
  draw(facts: Facts, view: StageView): StageScene;
  controls?(facts: Facts, knobs: Knobs, change: ChangeKnobs): HTMLElement[];
  answered?: Knobs; // what the answer sets
}

interface CourseScene {
  page: CoursePage;
  number: number; // from 1
  facts: Facts | null;
  answered: number; // the choice that was made, from 1; 0 while the question is open
  opened?: boolean;
  knobs: Knobs | null;
  close: (() => void) | null;
}

interface Course {
  state: State;
  source: Source;
  scenes: CourseScene[];
  current: number; // the scene that is shown, from 0
  closed: boolean;
  contents: HTMLElement;
  text: HTMLElement;
  stage: ReturnType<typeof import("./learn/learn_stage.js").lessonStage>;
  host: HTMLElement;
  caption: HTMLElement;
  controls: HTMLElement;
  table: HTMLElement;
  section: HTMLElement;
}

type TinySizes = typeof import("./learn/tiny_transformer.js").TINY_SIZES;
type NamedMatrices = Record<string, Matrix>;

interface TinyTransformer {
  sizes: TinySizes;
  parameters: NamedMatrices;
  steps: number;
  moments: { first: NamedMatrices; second: NamedMatrices };
}

type TinyRun = ReturnType<typeof import("./learn/tiny_transformer.js").tinyForward>;
type TinyBatch = { letters: number[]; target: number[] }[];

interface Trainer {
  model: TinyTransformer;
  losses: number[];
  random(): number;
  running: number; // the frame that was asked for, or 0
  task: number;
  letters: number[];
  tasks: HTMLElement;
  button: HTMLButtonElement;
  again: HTMLButtonElement;
  status: HTMLElement;
  curve: HTMLElement;
  grid: HTMLElement;
  written: HTMLElement;
}

// -- The report of a survey

interface HeadNumbers {
  part: string;
  layer: number;
  head: number;
}

interface SurveyChoice {
  measure: string;
  head: number; // its place in the report
}

// -- A monitored training (view/page/routes/monitor.py)

// One measure of all heads, (steps, heads).
interface TrainingMeasure {
  name: string;
  steps: number[];
  heads: number;
  values: Float32Array;
}

// The model of a widget in a notebook (anywidget): traits of its Python side.
interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
}

// -- Saving

// What a view hands to the Save menu.
interface Figure {
  name: string;
  kind: string;
  title: string;
  caption: string;
  provenance: string;
  axes: string[];
  what: string;
  queries: string[];
  keys: string[];
  chosen: number[];
  values: Float32Array | number[];
  card?: boolean;
  html?: { path: string; fields: Fields } | null;
}

type Rgb = number[];
type ExportFormat = [name: string, format: { title: string; make(): Promise<void> }];

interface TextLook {
  size?: number;
  fill?: string;
  anchor?: string;
  turn?: number;
  bold?: boolean;
}

// A figure before its title and caption are put around it.
interface DrawnFigure {
  width: number;
  height: number;
  marks: Child[];
  note: string;
}

// -- A static site (site/).

interface SiteAbout {
  folder: string; // named by the version
  sizes: Record<string, number>; // bytes of each file, uncompressed
  bytes: number; // to download
  docs: boolean; // whether the documentation is in docs/
}

// The files of a site, wherever they are (site/worker.js).
interface SiteFiles {
  folder: string;
  sizes: Record<string, number>;
  stream(name: string, fail: (error: Error) => void): Promise<ReadableStream<Uint8Array>>;
  address(name: string): string;
}

interface WorkerStart {
  given: Record<string, ArrayBuffer> | null;
  folder: string;
  sizes: Record<string, number>;
}

interface WorkerNews {
  stage?: string;
  fetched?: number;
  ready?: boolean;
  failed?: string;
}

interface WorkerRequest {
  message: object;
  signal?: AbortSignal;
  transfer: Transferable[];
  seconds: number;
  resolve(response: Response): void;
  reject(reason: unknown): void;
}

interface StatusLine {
  tell(news: WorkerNews): void;
  wait(more: number): void;
  say(text: string): void;
  question(): Promise<void>;
}

type CheckAsk = (fields: { code: string }, options: { seconds: number }) => Promise<Response>;
