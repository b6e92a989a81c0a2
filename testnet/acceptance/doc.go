// Package acceptance holds the tests that take Skerry whole: the program as it is built, sites in network namespaces,
// applications as processes, cuts, kills and full disks. They assert what a user or an operator sees, through the
// listeners, the REST API and the pages, and look into the applications themselves to count what was done.
//
// Read story_test.go first: it is what Skerry promises, in the order in which a user would find out.
//
// What the page and the API must never say or do to those who run a mesh, each shown on real agents:
//
//	nothing that is invented is called drift, and no local identifier crosses    TestWhatIsDeletedStaysTranslated
//	nothing is called converged that nobody can know                             TestNobodyKnowsDuringACut
//	what goes wrong between two sites is told at the third                       TestATruthfulMesh
//	conflicts are compared from any of their sites                               TestConflictsAreComparedAnywhere, TestATruthfulMesh, TestChapters
//	a name that both sides of a cut gave is found and decided                    TestATruthfulMesh (under ^), TestChapters (inside a container)
//	held deletions say what ran, and are brought back one by one                 TestHeldDeletionsAreRejected
//	who does not know whether it ran is told what speaks for it                  TestWhatACreateHasMadeIsChosen
//	a service that fails is seen from everywhere                                 TestAServiceThatFailsIsSeen
//	a scope that does not name the service warns                                 TestAScopeWithoutTheServiceWarns
//	a decision leaves a trace and can be undone; nothing is lost unseen          TestWhatACreateHasMadeIsChosen, TestAdoptingSaysWhatItOverwrites,
//	                                                                             TestACutIsRemembered
package acceptance
