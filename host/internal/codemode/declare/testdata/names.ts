declare const tools: { my_files: {
  /**
   * Reads.
   * @tool my-files/read-file
   */
  read_file_c974d25f(args?: { path?: string }): Promise<unknown>;
  /**
   * Reads too.
   * @tool my-files/read_file
   */
  read_file_cfb3ba4d(args?: { path?: string }): Promise<unknown>;
  list_all(args?: Record<string, unknown>): Promise<unknown>;
  /** A reserved word */
  "new"(args?: Record<string, unknown>): Promise<unknown>;
  /** @tool my-files/then */
  then_9cd37d3e(args?: Record<string, unknown>): Promise<unknown>;
  /** 名前 */
  "查询"(args?: Record<string, unknown>): Promise<unknown>;
  _7z__x____(args?: Record<string, unknown>): Promise<unknown>;
}; other: {
  /** Between them */
  a(args?: Record<string, unknown>): Promise<unknown>;
} };
