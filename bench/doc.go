// Package bench measures Mayfly on the machine that it runs on: how long a sandbox takes to make, what it costs in memory,
// how fast its interpreter is beside a native one that ran in the same minute, and what threads and processes of programs
// cost on both sides.
//
// The numbers are wall-clock times unless said otherwise, so other load on the machine shows in them; the reports have
// the load average next to them.
package bench
