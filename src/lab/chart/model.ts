/** What a chart shows. Points need not be sorted; those that are not finite are left out and counted. */
export interface ChartSpec {
  title: string;
  /** A sentence for screen readers; made from the data where it is missing. */
  summary?: string;
  x: AxisSpec;
  y: AxisSpec & { rate?: boolean };
  series: SeriesSpec[];
  /** Horizontal lines with their source, as the paper's figure. */
  references: { y: number; label: string }[];
  /** CSS pixels. */
  width: number;
  height: number;
}

export interface AxisSpec {
  label: string;
  unit: string;
}

export type Dash = 'solid' | 'dashed' | 'dotted' | 'dashdot' | 'long';
export type Marker = 'circle' | 'square' | 'triangle' | 'diamond' | 'cross' | 'none';

export interface SeriesSpec {
  id: string;
  label: string;
  /** Index into the colours of arms; counted round where there are more arms than colours. */
  color: number;
  dash: Dash;
  marker: Marker;
  points: [x: number, y: number][];
  /** Interval over seeds. */
  band?: [x: number, low: number, high: number][];
  /** A single seed: thin, without markers or label. */
  thin?: boolean;
}

/** Everything that has to be drawn, in CSS pixels from the top left. Plain data; text is text, never markup. */
export interface ChartModel {
  title: string;
  summary: string;
  width: number;
  height: number;
  plot: { left: number; top: number; right: number; bottom: number };
  x: AxisModel;
  y: AxisModel;
  series: DrawnSeries[];
  references: DrawnReference[];
  /** Data of the chart as text, at most `TABLE_ROWS` rows; `rows` of `of`. */
  table: { header: string[]; rows: string[][]; of: number };
  /** Points and interval values that are not finite. */
  omitted: number;
  /** True where there is nothing to draw: the page says so in words. */
  empty: boolean;
}

export interface AxisModel {
  /** Label with its unit: "Loss (nats per token)". */
  label: string;
  ticks: { at: number; label: string }[];
  domain: [number, number];
  /** Pixels of the two ends of the domain. */
  range: [number, number];
}

export interface DirectLabel {
  text: string;
  x: number;
  /** Middle of the text; moved so that labels do not overlap. */
  y: number;
  /** Where the line ends that it names. */
  fromX: number;
  fromY: number;
}

export interface DrawnSeries {
  id: string;
  label: string;
  color: number;
  thin: boolean;
  /** Value of `stroke-dasharray`; empty for a solid line. */
  dasharray: string;
  /** Path of the line, broken where points were left out; empty without points. */
  line: string;
  /** Path of the interval band; empty without one. */
  band: string;
  /** Path of one marker round (0, 0); empty for none. */
  marker: string;
  markers: { x: number; y: number }[];
  name: DirectLabel | null;
  /** The finite data, sorted by x: for hovering and for CSV. */
  points: [x: number, y: number][];
  interval: [x: number, low: number, high: number][];
}

export interface DrawnReference {
  y: number;
  at: number;
  name: DirectLabel;
}
