// Package bench measures Mayfly on the machine that it runs on: how long a sandbox takes to make, what it costs in memory,
// and how fast its interpreter is beside a native one that ran in the same minute.
//
// The numbers are wall-clock times unless said otherwise, so other load on the machine shows in them; Report.Machine has
// the load average next to them.
package bench
