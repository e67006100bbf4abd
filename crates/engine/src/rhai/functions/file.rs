use rhai::{ImmutableString, NativeCallContext};

use super::asking::ask;
use super::definition::{Definition, Functions};
use crate::FileCall;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "exist(path: string) -> bool",
        description: "Says whether there is a file or a directory. All paths are relative to the directory that the job is in, which first is that of the context; none leads out of that, not by `..` and not by a link.",
        errors: "the path leads out of the directory of the context.",
        example: "exist(\"nobody/wrote/this.txt\")",
        result: "false",
    },
    Definition {
        signature: "mkdir(path: string) -> string",
        description: "Makes a directory, and those above it, and says so. One that is there already is no error.",
        errors: "a file is in the way, the path leads out of the directory of the context or has more than 64 parts, or the files of the context have no room (files_quota).",
        example: "mkdir(\"reports/2026\")",
        result: r#""Successfully created directory 'reports/2026'""#,
    },
    Definition {
        signature: "file_write(path: string, content: string) -> string",
        description: "Writes a text to a file, in place of what is there, and says so. Directories that it needs are made.",
        errors: "the path is one of a directory or leads out of that of the context, or the files of the context have no room (files_quota).",
        example: "file_write(\"notes/first.txt\", \"one\\n\")",
        result: r#""Successfully wrote to file 'notes/first.txt'""#,
    },
    Definition {
        signature: "file_write_append(path: string, content: string) -> string",
        description: "Writes a text behind what is in a file, which is made if need be, and says so.",
        errors: "as those of `file_write`.",
        example: "file_write(\"notes/log.txt\", \"one\\n\");\nfile_write_append(\"notes/log.txt\", \"two\\n\");\nfile_read(\"notes/log.txt\")",
        result: r#""one\ntwo\n""#,
    },
    Definition {
        signature: "file_read(path: string) -> string",
        description: "Gives the text in a file.",
        errors: "there is no such file, it is no text (UTF-8), or it has more than 240 KB.",
        example: "file_write(\"greeting.txt\", \"hello\");\nfile_read(\"greeting.txt\")",
        result: r#""hello""#,
    },
    Definition {
        signature: "file_size(path: string) -> int",
        description: "Gives how many bytes a file has.",
        errors: "there is no such file.",
        example: "file_write(\"five.txt\", \"12345\");\nfile_size(\"five.txt\")",
        result: "5",
    },
    Definition {
        signature: "copy(from: string, to: string) -> string",
        description: "Copies a file, or a directory with everything in it, and says so. A file that is copied to a directory keeps its name there; what is in a directory comes beside what is in the other.",
        errors: "there is nothing to copy, a directory would be copied into itself, or the files of the context have no room (files_quota).",
        example: "file_write(\"from/a.txt\", \"a\");\ncopy(\"from\", \"to\");\nfile_read(\"to/a.txt\")",
        result: r#""a""#,
    },
    Definition {
        signature: "mv(from: string, to: string) -> string",
        description: "Moves a file or a directory, and says so. What is moved to a directory that there is keeps its name in it; a file takes the place of another.",
        errors: "there is nothing to move.",
        example: "file_write(\"draft.txt\", \"a\");\nmv(\"draft.txt\", \"done.txt\");\n[exist(\"draft.txt\"), exist(\"done.txt\")]",
        result: "[false,true]",
    },
    Definition {
        signature: "delete(path: string) -> string",
        description: "Deletes a file, or a directory with everything in it, and says so. It is no error if there is nothing. Of a link, the link is deleted.",
        errors: "the path leads out of the directory of the context, or is that directory.",
        example: "file_write(\"old/a.txt\", \"a\");\ndelete(\"old\");\nexist(\"old/a.txt\")",
        result: "false",
    },
    Definition {
        signature: "find_file(directory: string, name: string) -> string",
        description: "Gives the path of the first file of that name, in a directory or in those below it. In the name, `*` stands for any letters, and `?` for one.",
        errors: "there is no such directory, no such file, or more than 200,000 entries were looked at.",
        example: "file_write(\"found/deep/a.csv\", \"1\");\nfind_file(\"found\", \"*.csv\")",
        result: r#""found/deep/a.csv""#,
    },
    Definition {
        signature: "find_files(directory: string, name: string) -> array",
        description: "Gives the paths of all files of that name, in a directory and in those below it, in order; links are not followed. In the name, `*` stands for any letters, and `?` for one.",
        errors: "there is no such directory, there are more than 9,000 such files or 240 KB of their paths, or more than 200,000 entries were looked at.",
        example: "file_write(\"tables/a.csv\", \"1\");\nfile_write(\"tables/old/b.csv\", \"2\");\nfind_files(\"tables\", \"*.csv\")",
        result: r#"["tables/a.csv","tables/old/b.csv"]"#,
    },
    Definition {
        signature: "find_dir(directory: string, name: string) -> string",
        description: "Gives the path of the first directory of that name, as `find_file` does of files.",
        errors: "as those of `find_file`.",
        example: "mkdir(\"years/2026/march\");\nfind_dir(\"years\", \"mar*\")",
        result: r#""years/2026/march""#,
    },
    Definition {
        signature: "find_dirs(directory: string, name: string) -> array",
        description: "Gives the paths of all directories of that name, as `find_files` does of files.",
        errors: "as those of `find_files`.",
        example: "mkdir(\"shelves/a\");\nmkdir(\"shelves/b\");\nfind_dirs(\"shelves\", \"?\")",
        result: r#"["shelves/a","shelves/b"]"#,
    },
    Definition {
        signature: "chdir(path: string) -> string",
        description: "Goes to another directory, and says so: from then on paths of this job are relative to it, and its commands run there. It stays in the directory of the context.",
        errors: "there is no such directory.",
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
