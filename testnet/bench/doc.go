// The program bench measures Skerry with real processes in network namespaces and prints one table: what a request
// costs beside asking the application directly and beside nginx and HAProxy, how fast replicated creates are acknowledged and
// applied everywhere, also 50 ms apart, what an agent costs that has nothing to do, how long catching up takes after a
// cut, how many operations the engine folds, what the documents of a resource that is changed again and again take for
// each operation, and what 100,000 resources cost. It needs root, nginx, HAProxy and Chromium.
//
// Everything runs on one machine and shares its cores: compare the ratios within one run, not the numbers of two.
package main
