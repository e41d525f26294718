# It reads which process groups start (+) and end (-), and finally ends the remaining ones as `kill` does.
# A command is announced by a variable of its environment before it starts, when its pid is not known yet; on
# Linux this finds its processes, even those that left the group. Folders are removed last. The loop is a
# grandchild: nobody has to wait for it, and Ctrl+C at the terminal does not reach it. Background jobs have no
# standard input, hence descriptor 3.
cd /
exec 3<&0
trap '' HUP INT QUIT TERM
end() {
    signal=$1
    shift
    for mark; do
        case $mark in
            group*) kill -s $signal -- "-${mark#group}" ;;
            /*) [ $signal = KILL ] && rm -rf "$mark" ;;
            *) for place in $(grep -lsz "^$mark\$" /proc/[0-9]*/environ); do
                place=${place%/environ}
                kill -s $signal "${place##*/}"
            done ;;
        esac
    done
}
{
    marks=' '
    while read -r sign mark; do
        case $sign in
            +) marks="$marks$mark " ;;
            -) case $marks in *" $mark "*) marks="${marks%% $mark *} ${marks#* $mark }" ;; esac ;;
        esac
    done
    set -- $marks
    [ $# = 0 ] && exit
    end TERM "$@"
    end CONT "$@"
    sleep 1
    end KILL "$@"
} <&3 &
