_tau_values() {
    local -a found=("${(@f)$($program completions values $1 2>/dev/null)}")
    [[ -n $found[1] ]] || return 1
    found=("${(@)found//:/\\:}")
    found=("${(@)found//$'\t'/:}")
    _describe value found
}
_tau_list() { compset -P '*,'; _tau_values $1 }
_tau_sessions() { _tau_values sessions; _files }
_tau_command() {  # options, choices, choices that take a value, kind of value
    if [[ $words[CURRENT] == -* ]]; then compadd -- ${=1}
    elif (( CURRENT == 3 )); then compadd -- ${=2}
    elif (( CURRENT == 4 && ${${=3}[(Ie)$words[3]]} )); then _tau_values $4; fi
}
_tau_rest() {
    if compset -P @; then _files; return; fi
    if (( CURRENT == 2 )); then
        local -a commands=(@NAMES@)
        _describe command commands
    fi
}
_tau() {
    local program=$words[1]
    if (( CURRENT > 2 )); then case "$words[2]" in
@COMMANDS@
    esac; fi
    _arguments \
@ARGUMENTS@ \
        '*:message:_tau_rest'
}
compdef _tau tau
