function __tau_at_file
    string match -q -- '@*' (commandline -ct)
end
complete -c tau -f
function __tau_files
    printf '@%s\n' (__fish_complete_path (string sub -s 2 -- (commandline -ct)))
end
function __tau_values
    tau completions values $argv 2>/dev/null
end
function __tau_list
    set -l before (commandline -ct | string replace -r '^--?\w+=' '' | string match -r '.*,')
    __tau_values $argv | string replace -r '^' "$before"
end
complete -c tau -n __tau_at_file -a '(__tau_files)'
@RULES@
