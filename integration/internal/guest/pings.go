package guest

// Pings is a shell function for a guest's script:
//
//	pings N SIZE ADDRESS
//
// sends N echo requests, and says how many answers the kernel has counted by the
// time the last one has come, or wait seconds (10 unless set) after the last
// request. The answers that busybox's ping counts are fewer in a burst, as after a
// moment without CPU time: its socket has a buffer for three.
const Pings = `
answers() { awk '/^Icmp: [0-9]/ { n += $11 } /^Icmp6InEchoReplies/ { n += $2 } END { print n }' /proc/net/snmp /proc/net/snmp6; }
pings() {
	before=$(answers)
	ping -c $1 -i 0.02 -W ${wait:-10} -q -s $2 $3 > /dev/null
	echo $(($(answers) - before))
}
`
