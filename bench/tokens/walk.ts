const { content: list } = await tools.filesystem.list_directory({ path: "notes" });
const names = list.split("\n").map((line) => line.replace("[FILE] ", ""));
const notes = await Promise.all(names.map(async (name) => {
  const { content } = await tools.filesystem.read_text_file({ path: `notes/${name}` });
  return { name, todos: content.split("TODO").length - 1 };
}));
return notes.sort((a, b) => b.todos - a.todos).slice(0, 3);
