// Types of the page's data and of the objects that its views share, for the type checker alone.

type Range = [number, number];
type Chosen = { queries: number[]; keys: number[] };

interface State {
  view: string;
  get(name: string, otherwise?: string): string;
  number(name: string, otherwise?: number): number;
  set(changes: Record<string, unknown>, step?: boolean): void;
  go(view: string, changes?: Record<string, unknown>): void;
  follow(listener: (changed: Set<string>) => void): () => void;
  address(): string;
  start?(): void;
}

// Where a view gets its data from; lib/api.js says what each function gives.
interface Source {
  views: string[];
  page: { version: string; files: string[] };
  live: boolean;
  embedded?: any;
  bytesAt?(blob: Range): Promise<Uint8Array>;
  reading(
    sentence: string,
    options?: {
      quick?: boolean;
      signal?: AbortSignal;
      at?: { layer: number; head: number };
    },
  ): Promise<PageReading>;
  weights(reading: PageReading, choice: HeadChoice): Promise<Table>;
  thumbnails(
    reading: PageReading,
    part: string,
  ): Promise<{ rows: number; columns: number; weights: Float32Array }>;
  steps(choice: Record<string, unknown>): Promise<Inputs>;
  layer?(choice: Record<string, unknown>): Promise<LayerData>;
  nextWords?(choice: Record<string, unknown>): Promise<NextWords>;
  examples(): Promise<any[]>;
  learn(page: string): Promise<any>;
  run?(file: number): Promise<PageReading>;
  experiment?(sentence: string, changes: any[]): Promise<any>;
  effects?(fields: Record<string, unknown>): Promise<any>;
  post(path: string, fields: unknown, options?: { signal?: AbortSignal }): Promise<Response>;
}

interface Side {
  language: string;
  tokens: string[];
  words: string[];
  word_of_token: number[];
  generated?: { token: number; word: number } | null; // where the model's own text begins
}

interface Part {
  name: string;
  title: string;
  about: string;
  layers: number;
  heads: number;
  causal: boolean;
  steps: boolean;
  query: Side;
  key: Side;
  roles: string[][] | null;
  described_roles?: string[][] | null;
  ways: string[];
  thumbnail: number[];
}

interface Highlight {
  part: string;
  layer: number;
  head: number;
  query?: number;
  key?: number;
  query_word?: string;
  key_word?: string;
  sentence?: string;
  reason?: string;
  disagreement?: string;
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

interface PageReading {
  sentence: string;
  translation: string;
  changes?: any[]; // of an experiment's second run
  file?: number; // of a watched run
  quick: boolean;
  notes: string[];
  caution: string;
  parts: Part[];
  alignment: null | { words: string[]; sources: { key: number; weight: number }[][] };
  highlight: Highlight | null;
  images?: PageImage[]; // of a watched run
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

// Weights as pictures draw them.
interface Grid {
  rows: number;
  columns: number;
  weights: Float32Array;
  rest: Float32Array | null;
  queries: string[];
  keys: string[];
  hidden: null | { names: string[]; share: number };
  queryPositions?: number[];
  keyPositions?: number[];
}

interface Picture {
  root: HTMLElement;
  show(model: any): void;
  mark?(marks: { differing?: number[]; moving?: number[] }): void;
  close(): void;
}

interface ReadView {
  state: State;
  source: Source;
  turn: number;
  reading?: PageReading;
  grid?: Grid;
  part?: Part;
  choice?: HeadChoice;
  chosen?: Chosen;
  hovered?: Chosen | null;
  anchor?: { side: string; position: number } | null;
  peek?: { part: string; layer: number; head: number } | null;
  peekTimer?: ReturnType<typeof setTimeout>;
  pending?: AbortController; // of the sentence that is being read
  sentence?: string;
  remembered?: string[] | null; // words that were chosen before others were typed around them
  typedOver?: string; // the sentence that stood in the field when it was focused
  earlier?: string; // the sentence that was read before this one
  request?: string; // what the grid was made from
  requestedKey?: string; // what is being fetched
  of?: PageReading;
  drawn?: string;
  tabled?: Grid;
  root?: HTMLElement;
  base?: PageReading; // the sentence as it is, without changes
  experiment?: any; // the outcome of the changes, as source.experiment gives it
  outcome?: HTMLElement;
  effects?: HTMLElement;
  effectRequest?: string; // what the effects were made from
  effectCells?: { part: string; layer: number; head: number; button: HTMLElement }[];
  questions?: HTMLElement;
  steps?: { root: HTMLElement; show(view: ReadView): void }; // through the tokens
  asked?: string; // what the questions were made from
  why?: HTMLElement;
  scrollTarget?: HTMLElement | null; // what a click unfolds, scrolled to when it is filled
  explained?: string | boolean | null; // what the sum was made from
  shown?: HTMLElement;
  beside?: any; // the second picture
  images?: Picture; // the pictures that a watched model was given
  top?: any;
  heads?: any;
  pictures?: Record<string, Picture>;
  statement?: HTMLElement;
  controls?: HTMLElement;
  title?: HTMLElement;
  picture?: HTMLElement;
  notes?: HTMLElement;
  table?: HTMLDetailsElement;
}

interface Matrix {
  rows: number;
  columns: number;
  values: Float64Array;
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
  example?: any;
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
  xError?: number;
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
  values: ArrayLike<number>;
}

// Every stage around one head by name, worked out on first use.
interface LayerPath {
  layer: LayerData;
  steps: Stages;
  names: string[];
  matrix(name: string): Matrix;
  parameters(name: string): string[];
  parameter(name: string): Matrix;
}

interface Operand {
  stage: string;
  row: number | null;
  column: number | null;
}

interface StepsView {
  root: HTMLElement;
  state: State;
  source: Source;
  turn: number;
  wide: Set<string>; // stages that are shown in full
  stale: Set<string>; // fields whose change is not drawn yet
  inputs?: Inputs;
  before?: Stages;
  now?: Stages;
  isChanged?: boolean;
  chosen?: { stage: string; row: number; column: number };
  chosenIn?: Stages; // the computation, without switches, that it was chosen in
  operands?: Operand[];
  stage?: string; // the one that is opened; empty in the overview
  layer?: LayerData | null;
  path?: LayerPath | null; // as the switches have it
  pathBefore?: LayerPath | null;
  next?: NextWords | null;
  nextRow?: number; // the position whose next word is shown first
  thumbs?: Map<string, any>; // numbers of the overview's cards as they were drawn last
  watched?: ResizeObserver;
  card?: DOMRect | null; // of the card that was clicked
  overviewTop?: number; // how far the overview was scrolled when a stage was opened
  pictures?: Map<string, any>; // numbers of large matrices as they were drawn last
  crumbs?: HTMLElement;
  map?: HTMLElement;
  heatTimer?: ReturnType<typeof setTimeout>;
  origin?: HTMLElement;
  switches?: HTMLElement;
  statement?: HTMLElement;
  changed?: HTMLElement;
  flow?: HTMLElement;
  claims?: HTMLElement;
  why?: HTMLElement;
}

interface MapWindow {
  rows: number[];
  columns: number[];
}

interface MapLayer {
  name: string;
  heads: string[];
  queries: number;
  keys: number;
  text: boolean;
  fine: boolean; // whether single weights can be computed
  facts?: string[];
  least?: number[]; // queries and keys of the smallest window
}

interface MapSource {
  about: {
    name: string;
    notes: string[];
    layers: MapLayer[];
    first?: { layer: number; head: number } | null;
  };
  region(choice: { layer: number; head: number }, options: any): Promise<any>;
  row(
    choice: { layer: number; head: number },
    query: number,
  ): Promise<{ query: number; keys: number[]; weights: number[] }>;
  heads(): Promise<{ parts: any[] }>;
  thumbnails(
    reading: any,
    part: string,
  ): Promise<{ rows: number; columns: number; weights: Float32Array }>;
  text(layer: number, side: string, from: number, to: number): Promise<string[]>;
}

interface MapView {
  state: State;
  maps: { names: string[]; isServed?: boolean; open(file: number): Promise<MapSource> };
  map: MapSource | null;
  window: MapWindow | null;
  patches: any[];
  base?: any; // the patch of the full map
  at: number[] | null; // query and key under the pointer
  pinned: number | null;
  texts: Map<string, any>;
  file?: number;
  layer?: MapLayer;
  choice?: { layer: number; head: number };
  request?: { window: MapWindow; choice: { layer: number; head: number } } | null;
  pending?: AbortController | null;
  thorough?: boolean;
  rest?: ReturnType<typeof setTimeout>;
  layout?: any;
  painted?: number;
  paint?(): void;
  row?: any;
  strips?: HTMLElement;
  trouble?: HTMLElement;
  scale?: any; // the shades in numbers
  heads?: any; // all heads as a grid
  statement?: HTMLElement;
  controls?: HTMLElement;
  what?: HTMLElement;
  cursor?: HTMLElement;
  canvas?: HTMLCanvasElement;
  frame?: HTMLElement;
  notes?: HTMLElement;
  table?: HTMLDetailsElement;
}

// One scene of the course, as it is drawn.
interface Scene {
  number: number; // from 1
  page: any; // of course.js
  facts?: any;
  answered: number; // the choice that was made, from 1; 0 while the question is open
  pieces: { root: HTMLElement; show?(): void; close?(): void }[];
  root: HTMLElement;
  text: HTMLElement;
  beside: HTMLElement;
  buttons?: HTMLButtonElement[];
  answer?: HTMLElement;
  verdict?: HTMLElement;
}

interface Story {
  state: State;
  source: Source;
  scenes: Scene[];
  current: number; // the scene in view, from 0
  last: number; // the scene that was answered last, from 0
  target: number | null; // the scene that the page is scrolling to
  closed: boolean;
  contents?: HTMLElement;
}

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
  values: ArrayLike<number> & Iterable<number> & { slice(from: number, to: number): any };
  card?: boolean;
  html?: { path: string; fields: Record<string, unknown> } | null;
}
