package history

import (
	"strings"
	"testing"
)

// TestHistoriesThatWereWrong plays histories that ended wrong once, each by what was wrong.
func TestHistoriesThatWereWrong(t *testing.T) {
	for what, h := range map[string]struct {
		seed              uint64
		backups, restores int
		skip              string
	}{
		"what a site kept that was removed and added again was taken for the object of what is deleted": {17955424460003775, 0, 0,
			"1,3,5-9,11,13,15-24,26-33,35,37-44,46-47,50,54-55,57-63,65-66,68-72,74,76,78,80-88,93-109,112-122,124,126,129-131,137-145,149,151-152,154-155,158-160"},
		"a comparison that was broken off never ended the wait for the rest of it": {17955328210000660, 1, 1,
			"1-11,13,18-21,23-25,27-29,31-60,62-63,66-70,72-74,76-79,82-84,86-99,103-117"},
		"a create that two runs had issued outlived its delete": {2584, 1, 1,
			"1,4,6-27,30-31,33,36-49,51-65,67-68,70-117"},
		"a create that two runs had issued ran for each of them": {17955328210000803, 1, 1,
			"1,3,5-13,15-17,19-24,26-50,52-84,86-87,89,91-95,97-105,109-112,115-117,121-128"},
		"two sites told for ever what an epoch had, each because the other did": {17955495390000137, 1, 1, ""},
		"a create that was refused once more was looked for by what all parts show, at a part that shows its share": {17955485850017991, 0, 0,
			"1,3-17,19-20,22-29,32-37,40-47,49,52-55,57-98,101-112,114,116-125,127-132,134-137"},
		"a create that a person had sent once more was made anew beside what that had made": {17955495390000322, 1, 1,
			"1-21,24-30,32-45,47-55,57-61,63,65-72,74-77,79-80,82,84-93,96-137"},
		"what a set-back run had made was not looked for where the object that its lost run had made was gone": {17955495390000058, 1, 1,
			"1-11,13-14,17-22,24,26-35,37-45,48-52,54-70,72-79,81-84,86-95,97-101,103,105,107,109-115,118-125,127-148,150-154,156-158,160-164,166-168"},
		"a create that was asked for again at a site that had forgotten its key was taken for the same resource": {17955495390000523, 1, 1,
			"1-22,24-30,32,36-37,43-46,48,50-52,54-56,58-59,62-66,68-163"},
		"what a site had written alone before its disk was set back was never stored there again": {17955520600000200, 1, 1,
			"1-7,9-13,15-19,21-26,29-32,35-36,38,40,44-52,54-58,60-71,73-101"},
		"a request that two runs had handed to two sites ran for each of them": {17955515820000412, 1, 1,
			"1-12,14-17,20-21,23-31,33-35,37-42,44-48,51-59,61-64,67-85,87-97"},
		"a request that waited was run again once a checkpoint stood for its operation": {50000205, 1, 1, ""},
		"what a request had made was forgotten since the site joined anew before it was answered": {17955520600000549, 1, 1,
			"1,4-9,11-14,16-23,25-29,31-48,50-57,60-62,64-70,72-76,78,80-106,108,111,113,115-132"},
		"a set-back site had been compared with one that knew nothing of what the lost run had made": {17955520600001696, 1, 1,
			"2-4,6,8,10,12-14,16-21,23-27,29-61,63,65-72,76,79-86,89-106,109,111-113,115-146"},
		"an object of a lost run was not looked for by its marker": {17955520600001325, 1, 1,
			"2-12,14-16,18-51,53-59,62-65,67-90,92,94,99-100,102-104,106-112,115-124,126,132-133,135-145,147,149-156,158-165"},
		"two resources that joined anew took one object, whose identifier the restored application had given again": {54000721, 1, 0,
			"1-3,5-10,12-17,20-24,26,28-35,37,39-40,42,44-45,47-48,50-54,56-59,63-64,66-71,73-74,76-78,80-81,85,87,89,91-96,98-110"},
		"two runs gave their statuses one number": {50005595, 1, 1,
			"1-21,23-27,30,32-41,43-50,52,54,56-58,60-61,63,66-68,71-78,81-82,84-87"},
		"an epoch ended with what a lost run had written, and its site never heard of that": {50004469, 1, 1,
			"1-5,7-11,13-15,17,19-21,25,28-37,40,42-47,49,52-53,55-60,62-103,105-106,108-110,112-118,121,123-124,129-130"},
		"what was held back of an ended epoch, which its site had issued again, held up the next one": {52001209, 1, 1,
			"1-3,5-8,10-11,13-15,17,22-28,31-37,39,41,47-77,79,81-84,88,90-94,96-134"},
		"what was held back since a checkpoint stood for it as another run's held up the next epoch": {50004469, 1, 1, ""},
		"what builds on a create that was lost with its disk was waited for for ever": {51001101, 1, 1,
			"1-16,18-22,25-28,30,32,34-42,44-53,56-84,86-87,90-91,93-101,104-105,107-108,111,116-117,119-123,126-130,136,138-139,148-154"},
		"what builds on what was lost, in the current epoch, held up the end of the one before":        {51001101, 1, 1, ""},
		"what a site had dropped was still called what its application had given to another":           {52002022, 1, 1, ""},
		"what an application refused as its site joined anew was to be decided in ways that were none": {51001734, 1, 1, ""},
		"a site joined anew again and again since it never took in what it had written before":         {60001664, 1, 1, ""},
		"what a site was making as its backup was made was made once more": {65000752, 1, 0,
			"1-2,5-19,21-23,25,27,29-37,39-41,43-44,49-51,53,56,58-62,66-71,74-77,79-81,83-84,88,98-100,103,106,108-114,116,118,120-122,125,130-132,134-136,138-150,152,154,157-159"},
		"what nobody had decided about waited for a person for ever, once a checkpoint stood for it":      {61900880, 1, 1, ""},
		"an action of which a set-back site knew nothing waited for a person for ever":                    {61901290, 1, 1, ""},
		"what a site said early took the place of what its lost run had said":                             {67801196, 1, 0, ""},
		"a site that was removed took along what it alone had of a lost disk":                             {65000927, 1, 0, ""},
		"a site lacked something of an epoch that others had ended, and was not given what stands for it": {66001249, 1, 0, ""},
		"what an application had never shown was asked about nowhere while a change was left to do":       {68001798, 1, 0, ""},
		"what was issued twice brought an array into disorder once a checkpoint stood for it":             {68007418, 1, 0, ""},
		"what lay in a container was told of as there after that was made anew":                           {68001463, 1, 0, ""},
		"a site that joined anew waited for the word of sites that had nothing to say":                    {68006656, 1, 0, ""},
		"an object that was nobody's any more was called what is deleted":                                 {68031079, 1, 0, ""},
		"what the others had let go of was left in the object of a site that came late": {70006297, 0, 0,
			"1,3-4,6-8,10-19,21-23,27-28,30,33,36-45,47,53-54,56-58,63,65-68,72-73,75,77-90"},
		"a site was never sent its last word, by which a lost run of it had left": {71010036, 1, 0,
			"3,6-11,13,15-42,44-46,48-49,51-53,55-60,63-69,71-72,74-91,93-95,97-102,104-122,124-125,128-133,135-142,144,146-147"},
		"a site that joined anew deleted the object of another resource of the name": {71009802, 1, 0,
			"1-5,8-9,11-14,16-18,20-22,24-25,27-28,31-32,34,36,39-53,55-56,58-59,61-78"},
		"an operation that was issued once more was looked for in its first place, which counts nowhere": {71000413, 1, 0,
			"2,5-7,11-13,17,19-37,39-40,43-46,54-58,64-69,71-77,79-80,82-84,91,93-94,96,99,101-107,109,112-113,117-121,123,130,132-136,139-149"},
		"what was new was taken for part of an epoch that others had ended": {70018053, 0, 0,
			"1-3,5-19,21,24-29,33-40,42-43,49-54,59-73,75-77,79-87,90-98,100,104,106-117,119,121-124,126,128-143"},
		"a create that its site had sent once more, after a backup, outlived its delete": {72003134, 1, 0,
			"1-6,8-13,16-18,22-24,26,28,30,32-40,43-45,48-49,51,53-66,68-69,71-74,76-102"},
		"two decisions about one request were made of what was seen before the first": {72004035, 1, 0,
			"1-2,4,6-7,9-24,26-32,34,36-42,46-50,52-54,56,59-66,69-94,96-97,99-100,102-109,111-112,114-116,119-120,124,126,128-132,134-162"},
		"a site that joined anew waited for the word of one that could do nothing": {72004233, 1, 0,
			"1-5,8-10,12-27,31-32,34,39-46,50-64,66-67,69-76,78-81,84-100,103,105-134"},
		"bytes that a lost run had put were not put over others, since their key was known": {72011388, 1, 0,
			"1-2,4-25,28-29,32-35,37,40-42,44,46-50,52-53,55-65,70,74-84,87-89,91-99,101-103,105,107-113,115-116,118-131,137-147,150,153-157,160-164"},
		"a resource with a create that was dropped was taken for the owner of its name": {72011330, 1, 0,
			"1-4,6-7,9-17,19,21,24-33,35,37-68,70,72-73,75-76,78-124,126-129,131-132,134,136,138-149,152-153,155-158"},
		"a row that was never stored was taken for one that was forgotten": {73001946, 1, 0,
			"1-14,17-19,21,24,26-27,36,38,41,47,50,54,56-58,60-63,65-70,72-73,75-119,124-125,127-139,142,144-168"},
		"what a set-back site had taken for its own was compared with the resource of that name": {73002784, 1, 0,
			"1-17,19,21-22,24,27-28,30-33,35-38,42-47,49,55-57,59-63,65-69,71,75-102,104-106,108-109,112,114-116,118-138,140-146,148-152,154-156,159"},
		"what had come after a create that nobody could find was left to do for ever": {73010729, 1, 0,
			"2-3,5-7,9-11,16,20-27,30-34,37,39,41-42,46-50,52,55-59,62-63,65-66,68-69,71-77,79-121,123-133"},
		"an operation was listed as pending that was dropped before it was settled": {73012209, 1, 0,
			"12,20,22,29,36,44-45,47,49,52-53,56-58,62-64,67,69,71,75-76,80-81,83-88,90,92,96-97,99-105,107-123"},
		"a resource that joined anew took an object that its application had just given to another": {74000907, 1, 0,
			"1-3,5-7,9-11,13,15-29,31,34-37,39-52,54-57,59-66,68-70,72-76,78-80,82-103,105-108,112-120,122-125,127-128,130,132-142,144-146,148,150-159"},
		"what was held back in the current epoch was taken for part of one that others had ended": {76003077, 0, 0,
			"2-5,9-13,15-25,27-28,30,33,40,43-44,48,50,53,56,60-61,67,69,74,76,81-88,90-92,97-99,101-104,108,110-111,113-114,116-137,140-151"},
	} {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) {
			r := Play(Options{Seed: h.seed, Backups: h.backups, Restores: h.restores, Skip: parseSteps(t, h.skip)})
			for _, p := range r.Problems {
				t.Error(p)
			}
		})
	}
}
