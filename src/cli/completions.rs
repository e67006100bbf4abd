use clap::Args;
use clap_complete::Shell;

use super::output;
use crate::exit::Exit;

/// The shell to print completions for.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Where to put the scripts.
pub(super) const WHERE: &str = "\
bash: hero completions bash > ~/.local/share/bash-completion/completions/hero
zsh:  hero completions zsh > ~/.zfunc/_hero, with `fpath+=~/.zfunc` before compinit in .zshrc
fish: hero completions fish > ~/.config/fish/completions/hero.fish";

/// The part of the bash script that asks this program for ids.
const BASH: &str = r#"_hero_or_ids() {
    local id what ids=""
    while IFS=$'\t' read -r id what; do
        ids+="$id "
    done < <("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n "$ids" ]]; then
        COMPREPLY=( $(compgen -W "$ids" -- "${COMP_WORDS[COMP_CWORD]}") )
    else
        _hero "$@"
    fi
}

"#;

/// The part of the zsh script that asks for ids, at the beginning of its function.
const ZSH: &str = r#"
    local -a _hero_ids
    local _hero_line
    for _hero_line in "${(@f)$($words[1] complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n "$_hero_line" ]] && _hero_ids+=("${_hero_line%%$'\t'*}:${_hero_line#*$'\t'}")
    done
    if (( $#_hero_ids )); then
        _describe -V 'id' _hero_ids
        return
    fi
"#;

/// The part of the fish script that asks for ids, at its end.
const FISH: &str = r#"
function __fish_hero_ids
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    test (count $typed) -eq 0; and set typed ""
    $words[1] complete -- $words[2..-1] $typed 2>/dev/null
end
complete -c hero -n "__fish_hero_using_subcommand job; and __fish_seen_subcommand_from start wait stop retry status show explain logs delete" -f
complete -c hero -n "__fish_hero_using_subcommand schedule; and __fish_seen_subcommand_from show delete" -f
complete -c hero -n "__fish_hero_using_subcommand job schedule" -k -a "(__fish_hero_ids)"
for option in after parent predecessor dependent
    complete -c hero -n "__fish_hero_using_subcommand run; or __fish_hero_using_subcommand job; and __fish_seen_subcommand_from create" -l $option -x -k -a "(__fish_hero_ids)"
end
"#;

impl Completions {
    pub(super) fn main(&self, command: &mut clap::Command) -> anyhow::Result<Exit> {
        let mut script = Vec::new(); // Written at once: the generator panics when a pipe closes.
        clap_complete::generate(self.shell, command, "hero", &mut script);
        output::document(&with_ids(self.shell, String::from_utf8(script)?))?;
        Ok(Exit::Ok)
    }
}

/// Adds the part that asks for ids to a completion script, if this shell has one.
fn with_ids(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => match script.rfind("\nif [[ ") {
            Some(end) => {
                format!("{}\n{BASH}{}", &script[..end], script[end + 1..].replace("complete -F _hero ", "complete -F _hero_or_ids "))
            }
            None => script,
        },
        Shell::Zsh => script.replacen("\n_hero() {\n", &format!("\n_hero() {{{ZSH}"), 1),
        Shell::Fish => script + FISH,
        _ => script,
    }
}
