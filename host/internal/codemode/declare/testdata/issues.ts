declare const tools: { github: {
  /**
   * Create an issue in a repository.
   *
   * Returns it as it was created.
   */
  create_issue(args: {
    /** Repository owner */
    owner: string;
    /** Repository name @minLength 1 @maxLength 100 */
    repo: string;
    title: string;
    /** @uniqueItems */
    labels?: string[];
    /** @default "open" */
    state?: "open" | "closed";
    /** @minimum 1 */
    milestone?: number | null;
    /** @deprecated Use assignees. */
    assignee?: string;
    reactions?: Record<string, number>;
    body?: string | /** From a template */ { template: string; values?: Record<string, unknown> };
  }): Promise<{
    /** @format int64 @integer */
    id: number | bigint;
    /** @integer */
    number: number;
    /** An account */
    user?: {
      login: string;
      /** @format uri */
      site?: string;
      manager?: unknown;
    };
    /** Each: An account */
    assignees?: Array<{
      login: string;
      /** @format uri */
      site?: string;
      manager?: unknown;
    }>;
  }>;
  /** Who am I? */
  get_me(args?: Record<string, never>): Promise<unknown>;
} };
