// Package store keeps durable sessions in a directory: it is the [engine.Store] on Badger.
//
// # Layout of the directory
//
//	format.json   the version of the format; written first, read first
//	LOCK.mayfly   locked while a process has the store open
//	holder.json   which process that is, for the message that another one gets
//	badger/       the database
//
// # What is in the database
//
//	o<hash>                     an object: its encoding, the objects it names, its data, compressed when that helps
//	c<hash>                     how many objects and holds name it; absent for 0
//	g<hash>                     a mark: the count was 0 when it was written
//	s<session>                  generation, first and last step, head
//	j<session>\0<gen><step>     the record of a step
//	h<session>\0<gen><step>     the objects that the step holds
//	d<session>\0<gen>           a removed session whose records are still to be deleted
//	mg                          the latest generation
//
// A session gets a new generation each time its name is used, so that the name of a removed session is free at once.
//
// One goroutine writes. It takes the commits that wait and puts them into one transaction with one sync. An object that
// is in the database counts for the objects that it names, whether or not anything names itself, and those are in the
// database as well. This holds after each transaction, so a crash leaves nothing to mend: only marked objects, which the
// collector deletes. A commit too large for one transaction stores its objects first, as marked ones.
package store
