use rhai::{ImmutableString, NativeCallContext};

use super::asking::ask;
use super::definition::{Definition, Functions};
use crate::FileCall;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "exist(path: string) -> bool",
        description: "Returns whether a file or a directory exists. All paths are relative to the working directory of the job, which is at first the directory of the context. No path leads out of that, neither by `..` nor by a link.",
        errors: "the path leads out of the directory of the context.",
        example: "exist(\"nobody/wrote/this.txt\")",
        result: "false",
    },
    Definition {
        signature: "mkdir(path: string) -> string",
        description: "Makes a directory and those above it, and returns a message. An existing directory is no error.",
        errors: "a file is in the way, the path leads out of the directory of the context or has more than 64 parts, or the files of the context have no room (files_quota).",
        example: "mkdir(\"reports/2026\")",
        result: r#""Successfully created directory 'reports/2026'""#,
    },
    Definition {
        signature: "file_write(path: string, content: string) -> string",
        description: "Writes a text to a file, replacing its content, and returns a message. Missing directories are made.",
        errors: "the path is that of a directory or leads out of the directory of the context, or the files of the context have no room (files_quota).",
        example: "file_write(\"notes/first.txt\", \"one\\n\")",
        result: r#""Successfully wrote to file 'notes/first.txt'""#,
    },
    Definition {
        signature: "file_write_append(path: string, content: string) -> string",
        description: "Appends a text to a file, which is made if it does not exist, and returns a message.",
        errors: "the same as those of `file_write`.",
        example: "file_write(\"notes/log.txt\", \"one\\n\");\nfile_write_append(\"notes/log.txt\", \"two\\n\");\nfile_read(\"notes/log.txt\")",
        result: r#""one\ntwo\n""#,
    },
    Definition {
        signature: "file_read(path: string) -> string",
        description: "Returns the text of a file.",
        errors: "the file does not exist, is not UTF-8 text, or has more than 240 KB.",
        example: "file_write(\"greeting.txt\", \"hello\");\nfile_read(\"greeting.txt\")",
        result: r#""hello""#,
    },
    Definition {
        signature: "file_size(path: string) -> int",
        description: "Returns the size of a file in bytes.",
        errors: "the file does not exist.",
        example: "file_write(\"five.txt\", \"12345\");\nfile_size(\"five.txt\")",
        result: "5",
    },
    Definition {
        signature: "copy(from: string, to: string) -> string",
        description: "Copies a file, or a directory with everything in it, and returns a message. A file that is copied to a directory keeps its name there; the content of a directory is added to that of the other.",
        errors: "the source does not exist, a directory would be copied into itself, or the files of the context have no room (files_quota).",
        example: "file_write(\"from/a.txt\", \"a\");\ncopy(\"from\", \"to\");\nfile_read(\"to/a.txt\")",
        result: r#""a""#,
    },
    Definition {
        signature: "mv(from: string, to: string) -> string",
        description: "Moves a file or a directory, and returns a message. An entry that is moved to an existing directory keeps its name in it; a file replaces another file.",
        errors: "the source does not exist.",
        example: "file_write(\"draft.txt\", \"a\");\nmv(\"draft.txt\", \"done.txt\");\n[exist(\"draft.txt\"), exist(\"done.txt\")]",
        result: "[false,true]",
    },
    Definition {
        signature: "delete(path: string) -> string",
        description: "Deletes a file, or a directory with everything in it, and returns a message. A missing path is no error. For a link, only the link is deleted.",
        errors: "the path leads out of the directory of the context, or is that directory.",
        example: "file_write(\"old/a.txt\", \"a\");\ndelete(\"old\");\nexist(\"old/a.txt\")",
        result: "false",
    },
    Definition {
        signature: "find_file(directory: string, name: string) -> string",
        description: "Returns the path of the first file with this name, in a directory or in those below it. In the name, `*` stands for any characters, and `?` for one.",
        errors: "the directory does not exist, there is no such file, or more than 200,000 entries were searched.",
        example: "file_write(\"found/deep/a.csv\", \"1\");\nfind_file(\"found\", \"*.csv\")",
        result: r#""found/deep/a.csv""#,
    },
    Definition {
        signature: "find_files(directory: string, name: string) -> array",
        description: "Returns the paths of all files with this name, in a directory and in those below it, in order; links are not followed. In the name, `*` stands for any characters, and `?` for one.",
        errors: "the directory does not exist, there are more than 9,000 such files or 240 KB of their paths, or more than 200,000 entries were searched.",
        example: "file_write(\"tables/a.csv\", \"1\");\nfile_write(\"tables/old/b.csv\", \"2\");\nfind_files(\"tables\", \"*.csv\")",
        result: r#"["tables/a.csv","tables/old/b.csv"]"#,
    },
    Definition {
        signature: "find_dir(directory: string, name: string) -> string",
        description: "Returns the path of the first directory with this name, like `find_file` for files.",
        errors: "the same as those of `find_file`.",
        example: "mkdir(\"years/2026/march\");\nfind_dir(\"years\", \"mar*\")",
        result: r#""years/2026/march""#,
    },
    Definition {
        signature: "find_dirs(directory: string, name: string) -> array",
        description: "Returns the paths of all directories with this name, like `find_files` for files.",
        errors: "the same as those of `find_files`.",
        example: "mkdir(\"shelves/a\");\nmkdir(\"shelves/b\");\nfind_dirs(\"shelves\", \"?\")",
        result: r#"["shelves/a","shelves/b"]"#,
    },
    Definition {
        signature: "chdir(path: string) -> string",
        description: "Changes the working directory of the job, and returns a message: from then on, its paths are relative to it, and its commands run there. It has to be in the directory of the context.",
        errors: "the directory does not exist.",
        example: "file_write(\"box/a.txt\", \"a\");\nchdir(\"box\");\nfile_read(\"a.txt\") + exist(\"../box\")",
        result: r#""atrue""#,
    },
];

/// A file call with a path.
type OfOne = fn(String) -> FileCall;
/// A file call with two texts.
type OfTwo = fn(String, String) -> FileCall;

pub(super) fn add(functions: &mut Functions<'_>) {
    let of_one: [(&'static str, OfOne); 6] = [
        ("exist", |path| FileCall::Exists { path }),
        ("mkdir", |path| FileCall::MakeDirectory { path }),
        ("file_read", |path| FileCall::Read { path }),
        ("file_size", |path| FileCall::Size { path }),
        ("delete", |path| FileCall::Delete { path }),
        ("chdir", |path| FileCall::ChangeDirectory { path }),
    ];
    for (name, call) in of_one {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, path: ImmutableString| ask(&context, &run, call(path.into_owned())));
    }
    let of_two: [(&'static str, OfTwo); 8] = [
        ("file_write", |path, text| FileCall::Write { path, text, append: false }),
        ("file_write_append", |path, text| FileCall::Write { path, text, append: true }),
        ("copy", |from, to| FileCall::Copy { from, to }),
        ("mv", |from, to| FileCall::Move { from, to }),
        ("find_file", |directory, name| FileCall::Find { directory, name, directories: false, first: true }),
        ("find_files", |directory, name| FileCall::Find { directory, name, directories: false, first: false }),
        ("find_dir", |directory, name| FileCall::Find { directory, name, directories: true, first: true }),
        ("find_dirs", |directory, name| FileCall::Find { directory, name, directories: true, first: false }),
    ];
    for (name, call) in of_two {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, one: ImmutableString, other: ImmutableString| {
            ask(&context, &run, call(one.into_owned(), other.into_owned()))
        });
    }
}
