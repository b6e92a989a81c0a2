// Package script plays what happens between sites as a text that a person can read: commands, and below each the trace
// of what it brought about. The scripts are in testdata; each shows one situation and says why it has to end as it does.
//
//	# Two sites change different fields: both changes count.
//	sites paris nantes
//	paris: PUT /images/web {"tag":1} scope paris & nantes
//	----
//	paris   app PUT /images/web {"tag":1} → 201
//	…
//
// A trace tells what clients are answered, what each agent asks of its application, which operations it publishes, what it tells the
// other sites of itself as far as that is news, and which conflicts it asks a person about; then "show" tells what there is.
//
// The sites are those of testnet/world: the real engine and documents, over a disk and a network in memory. The catalog is read by the
// real glue; the application is this package's own. Time stands still but for a second before each request and what "wait" says; each
// site does one thing after the other when a command lets it. So a script has the same trace every time, and go test -run TestScripts
// -update writes the traces anew.
//
// The commands:
//
//	sites NAME...                   makes a mesh of these sites; ids rise in this order
//	catalog                         the indented lines below are the service of the catalog, in YAML; comes before sites
//	SITE: METHOD PATH [BODY] [scope LOCATION] [as NAME] [key KEY] [type MEDIA] [size BYTES]
//	      [prefer respond-async]
//	                                a request of a client of SITE; NAME stands for the identifier of what it makes; a body in
//	                                quotes is opaque, and as long as the script says: dots follow it, which the trace leaves out
//	SITE: app METHOD PATH [BODY]    a request straight to the application, behind the agent's back
//	SITE: fail next WHAT            the next request to its application that changes something is answered with a status;
//	                                or is "lost" before it is done, or "unanswered" after it was done
//	SITE: down, SITE: up            its application cannot be reached, or can again
//	SITE: blind, SITE: sees         its application shows nothing (503), though it does what it is asked to, or shows things again
//	SITE: habit HABIT               its application has a habit of real ones from now on: "strict", "guards", "fixes FIELD", "most FIELD N",
//	                                "slow DURATION", "accepts" (202 to creates), "lingers DURATION" and "keeps" (202 to deletions), "lost" (404 to all),
//	                                "closes PATH" (403 to creates in a container that it is deleting), "hides everything", "answers METHOD PATH STATUS" (habits.go); "none" ends all
//	SITE: retry OP, done OP, drop OP
//	                                a person decides about an operation
//	SITE: attempts OP               what it has kept of its attempts to bring an operation to its application
//	SITE: resolve KIND ACTION [LOCAL]
//	                                a person decides about its conflicts of a kind
//	SITE: pause NAME, resume NAME   a person has the site leave its replica as it is, or ends that
//	SITE: resume                    a person has the site try an application again that fails or does not let it in
//	SITE: keep NAME                 a person has all sites show what this one shows
//	SITE: place NAME + SITE - SITE  a person adds replicas and removes some
//	SITE: place NAME at LOCATION    a person says where all of it is to be, divided or not
//	SITE: remove SITE               a person takes a site out of the mesh for good
//	SITE: confirm                   a person confirms the deletions that the site holds
//	SITE: reject                    a person has it keep the objects of the deletions that it holds
//	SITE: accepts [RULE, RULE...]   its configuration says what other sites may do there, from its next start on: FROM OPERATION..., or
//	                                FROM alone for all; without a rule it says nothing
//	looks DURATION                  how soon sites look at what their applications show; comes before sites
//	history N                       how many operations of a resource a site keeps; comes before sites
//	epoch N                         how many operations a document of a resource takes; comes before sites
//	leaving DURATION                how long sites that were removed are waited for; comes before sites
//	keeping DURATION                how long operations that all sites have settled are listed; comes before sites
//	deletions N                     how many deletions run unconfirmed at a site that was away; comes before sites
//	cut SITE, heal                  SITE is cut off from all others; all sites reach each other again
//	deliver [SITE>SITE]             letters arrive, and sites that reach each other exchange what they lack and do what is due, until all
//	                                is quiet; or one takes from one
//	crash SITE before WHAT          its agent dies before the next WHAT: intent, request, answer, commit, drop,
//	                                publish, merge; or the next hearing of what a site says to a request that was handed to it
//	restart SITE                    its agent starts anew from what is on its disk
//	start SITE                      its agent starts, and what it finds to do comes after the next command
//	stop SITE                       its agent ends
//	backup SITE                     what is on its disk is copied, and what its application holds
//	restore SITE [with its application]
//	                                its disk is again as it was at its backup, its application too where the script says so
//	rollout SITE                    the indented lines below are its catalog from now on
//	wait DURATION                   time passes, and sites do what becomes due
//	look                            so much time passes that all sites have looked at what their applications show
//	show                            what each application holds, what each site says of it, and what it asks a person
//	left                            which resources each site lists as having something left to do there
//
// Operations are numbered in the order in which the trace first names them.
package script
