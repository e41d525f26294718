_tau_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
_tau_values() {  # compgen -W would run commands in them
    local value
    while IFS=$'\t' read -r value _; do
        if [[ $value == "$word"* ]]; then COMPREPLY+=("$value"); fi
    done < <("${COMP_WORDS[0]}" completions values "$1" 2>/dev/null)
    if [[ $word == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}"); fi
}
_tau_list() {
    local before=""
    if [[ $word == *,* ]]; then before="${word%,*},"; word="${word##*,}"; fi
    _tau_values "$1"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
}
_tau_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do COMPREPLY+=("$2$path"); done < <(compgen "$1" -- "${word#"$2"}")
}
_tau_command() {  # choices, options, choices that take a value, kind of value
    if [[ $word == -* ]]; then _tau_words "$2"
    elif [ "$count" -eq 2 ]; then _tau_words "$1"
    elif [ "$count" -eq 3 ] && [[ " $3 " == *" ${words[2]} "* ]]; then _tau_values "$4"; fi
}
_tau() {
    local words=() part word last count
    for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [ "$part" = : ] || [[ ${words[*]} == *: ]]; then  # bash splits words at colons
            words[${#words[@]}-1]+="$part"
        else
            words+=("$part")
        fi
    done
    count=$((${#words[@]} - 1))
    word="${words[count]}" last="${words[count-1]}"
    if [ "$word" = = ]; then word=""; fi
    if [ "$last" = = ]; then last="${words[count-2]}"; fi
    COMPREPLY=()
    if [ "$count" -gt 1 ]; then case "${words[1]}" in
@COMMANDS@
    esac; fi
    case "$last" in
@VALUES@
    esac
    case "$word" in
        @*) _tau_paths -f @; compopt -o nospace 2>/dev/null ;;
        -*) _tau_words "@FLAGS@" ;;
        *) [ "$count" -eq 1 ] && _tau_words "@NAMES@" ;;
    esac
}
complete -F _tau tau
