// What a script of collet can use. Written by collet types; do not edit.

interface Tools {
  my_files: {
    /**
     * Reads.
     * @tool my-files/read-file
     */
    read_file_c974d25f: Tool<{ path?: string }, unknown>;
    "read-file": Tools["my_files"]["read_file_c974d25f"];
    /**
     * Reads too.
     * @tool my-files/read_file
     */
    read_file_cfb3ba4d: Tool<{ path?: string }, unknown>;
    "read_file": Tools["my_files"]["read_file_cfb3ba4d"];
    list_all: Tool<Record<string, unknown>, unknown>;
    "list-all": Tools["my_files"]["list_all"];
    /** A reserved word */
    "new": Tool<Record<string, unknown>, unknown>;
    /** @tool my-files/then */
    then_9cd37d3e: Tool<Record<string, unknown>, unknown>;
    /** 名前 */
    "查询": Tool<Record<string, unknown>, unknown>;
    _7z__x____: Tool<Record<string, unknown>, unknown>;
    "7z \"x\"\n*/": Tools["my_files"]["_7z__x____"];
  };
  "my-files": Tools["my_files"];
  other: {
    /** Between them */
    a: Tool<Record<string, unknown>, unknown>;
  };
}

/** The tools by their full names. */
interface ToolsByName {
  "my-files/read-file": Tools["my_files"]["read_file_c974d25f"];
  "my-files/read_file": Tools["my_files"]["read_file_cfb3ba4d"];
  "my-files/list-all": Tools["my_files"]["list_all"];
  "my-files/new": Tools["my_files"]["new"];
  "my-files/then": Tools["my_files"]["then_9cd37d3e"];
  "my-files/查询": Tools["my_files"]["查询"];
  "my-files/7z \"x\"\n*/": Tools["my_files"]["_7z__x____"];
  "other/a": Tools["other"]["a"];
}
