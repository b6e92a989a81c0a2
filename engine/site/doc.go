// Package site is the loop of one site. It owns all replicas (package replica), and is the only place where they meet: it takes
// everything that waits, hands each input to its replica, makes durable what all of them want to be kept in one commit, and only
// then sends, calls and answers. (etcd's raft has the same shape: input is messages and ticks, output is effects that the caller
// carries out.)
//
// Read it in this order: inbox.go for what waits; wakeup.go for one wake-up, from what is taken to what is done after the commit;
// resident.go for how a replica is loaded and forgotten; record.go for what is stored of it; env.go for what a replica asks of its
// surroundings; calls.go for requests to the application; letters.go, receive.go and exchange.go for other sites.
//
// Everything that the loop owns is under Site.mu. It is held while a wake-up steps and commits, so that whoever looks sees what is
// durable and nothing else. Nothing under it waits for another site or for the application.
//
// docs/words.md explains the terms.
package site
