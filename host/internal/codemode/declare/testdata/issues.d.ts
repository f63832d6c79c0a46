// What a script of collet can use. Written by collet types; do not edit.

interface Tools {
  github: {
    /**
     * Create an issue in a repository.
     *
     * Returns it as it was created.
     */
    create_issue: Tool<{
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
    }, {
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
    get_me: Tool<Record<string, never>, unknown>;
  };
}

/** The tools by their full names. */
interface ToolsByName {
  "github/create_issue": Tools["github"]["create_issue"];
  "github/get_me": Tools["github"]["get_me"];
}
