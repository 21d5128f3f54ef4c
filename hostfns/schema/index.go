package schema

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Doc is what an Index knows of a tool.
type Doc struct {
	// Name counts most, then Title, then Args and Text.
	Name, Title, Text string
	Args              []string
}

// Doc returns what an Index should know of the tool. It needs no signature, since an index has many tools.
func (t *Tool) Doc() Doc {
	d := Doc{Name: t.in.Name, Title: t.in.Title, Text: t.in.Description}
	args, _ := t.schemas()
	if props := args.root.get("properties"); props != nil {
		d.Args = props.keys[:min(len(props.keys), maxIndexArgs)]
	}
	return d
}

// Hit is a document that was found.
type Hit struct {
	// Doc is its place in the slice given to NewIndex.
	Doc   int
	Score float64
}

// Index finds tools by words: BM25 over their fields, with different weights. It does not change, and is safe for
// concurrent use.
type Index struct {
	terms map[string]int
	// sorted are the terms in order, to find those that begin alike.
	sorted   []string
	postings [][]posting
	norms    []float32
	scratch  sync.Pool
}

type posting struct {
	doc int32
	// weight is how often the term is there, by fields; bonus is for names, however much else is said.
	weight, bonus float32
}

// Weights of the fields, and the constants of BM25. The length matters less than usual: a long description is no
// fault.
const (
	nameWeight  = 2
	nameBonus   = 0.8
	titleWeight = 2
	argWeight   = 0.7
	textWeight  = 1
	bm25K       = 1.2
	bm25B       = 0.4

	// What a word counts that only begins like the one in the query, and one that means about the same.
	prefixWeight  = 0.5
	synonymWeight = 0.4
	maxPrefixed   = 20

	maxIndexText  = 2 << 10 // bytes of a field
	maxIndexArgs  = 50
	maxQueryTerms = 24
)

// NewIndex returns an index of some documents.
func NewIndex(docs []Doc) *Index {
	x := &Index{terms: map[string]int{}, norms: make([]float32, len(docs))}
	x.scratch.New = func() any { return &scratch{total: make([]float64, len(docs)), best: make([]float64, len(docs))} }
	total := 0.0
	found := map[int]posting{}
	for i := range docs {
		d := &docs[i]
		clear(found)
		length := 0
		add := func(text string, weight, bonus float32) {
			for _, term := range terms(cut(text, maxIndexText)) {
				id, ok := x.terms[term]
				if !ok {
					id = len(x.postings)
					x.terms[term] = id
					x.postings = append(x.postings, nil)
				}
				p := found[id]
				found[id] = posting{int32(i), p.weight + weight, max(p.bonus, bonus)}
				length++
			}
		}
		add(d.Name, nameWeight, nameBonus)
		add(d.Title, titleWeight, 0)
		add(d.Text, textWeight, 0)
		for _, arg := range d.Args[:min(len(d.Args), maxIndexArgs)] {
			add(arg, argWeight, 0)
		}
		for id, p := range found {
			x.postings[id] = append(x.postings[id], p)
		}
		x.norms[i] = float32(length)
		total += float64(length)
	}
	average := max(total/float64(max(len(docs), 1)), 1)
	for i, length := range x.norms {
		x.norms[i] = float32(bm25K * (1 - bm25B + bm25B*float64(length)/average))
	}
	x.sorted = make([]string, 0, len(x.terms))
	for term := range x.terms {
		x.sorted = append(x.sorted, term)
	}
	slices.Sort(x.sorted)
	return x
}

// Search returns the best documents for some words, at most limit (0: 10). Equal ones come in their order. It finds
// nothing when no word is known.
func (x *Index) Search(query string, limit int) []Hit { return x.SearchFunc(query, limit, nil) }

// SearchFunc is Search among the documents that keep accepts; nil accepts all.
func (x *Index) SearchFunc(query string, limit int, keep func(doc int) bool) []Hit {
	if limit <= 0 {
		limit = 10
	}
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	defer clear(s.total)
	asked := terms(cut(query, maxIndexText))
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for _, term := range asked[:min(len(asked), maxQueryTerms)] {
		x.score(s, term)
	}
	best := make([]Hit, 0, min(limit, len(s.total))+1)
	for doc, score := range s.total {
		if score == 0 || len(best) == limit && score <= best[limit-1].Score || keep != nil && !keep(doc) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, score, func(h Hit, score float64) int {
			return truth(h.Score < score)*2 - 1
		})
		best = slices.Insert(best, at, Hit{doc, score})
		best = best[:min(len(best), limit)]
	}
	return best
}

// scratch is the memory of a search.
type scratch struct {
	total []float64
	// best is what the present word of the query is worth for each document; found are those for which that is not zero.
	best  []float64
	found []int32
}

// score adds what a word of the query is worth. Of the words that may be meant by it, only the best one in a document counts.
func (x *Index) score(s *scratch, term string) {
	x.add(s, term, 1)
	if len(term) >= 3 {
		from, _ := slices.BinarySearch(x.sorted, term)
		for n := from; n < len(x.sorted) && n < from+maxPrefixed && strings.HasPrefix(x.sorted[n], term); n++ {
			x.add(s, x.sorted[n], prefixWeight)
		}
	}
	for _, other := range synonyms[term] {
		x.add(s, other, synonymWeight)
	}
	for _, doc := range s.found {
		s.total[doc] += s.best[doc]
		s.best[doc] = 0
	}
	s.found = s.found[:0]
}

func (x *Index) add(s *scratch, term string, weight float64) {
	id, ok := x.terms[term]
	if !ok {
		return
	}
	all := x.postings[id]
	n, df := float64(len(x.norms)), float64(len(all))
	weight *= math.Log(1 + (n-df+0.5)/(df+0.5))
	for _, p := range all {
		score := weight * (float64(p.weight/(p.weight+x.norms[p.doc])) + float64(p.bonus))
		if s.best[p.doc] == 0 {
			s.found = append(s.found, p.doc)
		}
		s.best[p.doc] = max(s.best[p.doc], score)
	}
}
