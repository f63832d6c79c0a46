declare const tools: { x: {
  /**
   * *\/ };
   * declare const stolen: string; /*
   * @ ts-ignore
   * // @ ts-nocheck
   *  ]0;title   right to left
   */
  escape(args?: {
    /** *\/ @default "*\/" @pattern *\/ | \*\/ */
    "a*/"?: "*/" | "\"; }" | "\n" | "\u{2028}" | "`${x}`" | "'";
    "\"]; x: [\""?: "\\";
    __proto__?: { constructor?: string };
    "line\nbreak"?: unknown;
    ""?: unknown;
    /** @readOnly */
    readonly?: unknown;
    get?: unknown;
    [key: string]: unknown; // "*/\n"
  }): Promise<unknown>;
} };
