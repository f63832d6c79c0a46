// What a script of collet can use. Written by collet types; do not edit.

interface Tools {
  x: {
    /**
     * *\/ };
     * declare const stolen: string; /*
     * @ ts-ignore
     * // @ ts-nocheck
     *  ]0;title   right to left
     */
    escape: Tool<{
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
    }, unknown>;
  };
}

/** The tools by their full names. */
interface ToolsByName {
  "x/escape": Tools["x"]["escape"];
}
