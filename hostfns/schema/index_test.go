package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func everythingDocs() []Doc {
	return []Doc{
		{Name: "echo", Title: "Echo Tool", Text: "Says the input again", Args: []string{"message"}},
		{Name: "get-annotated-message", Title: "Get Annotated Message Tool", Text: "Shows how annotations give metadata about content", Args: []string{"messageType", "includeImage"}},
		{Name: "get-env", Title: "Print Environment Tool", Text: "Returns all environment variables, to debug the configuration of a server"},
		{Name: "get-resource-links", Title: "Get Resource Links Tool", Text: "Returns up to ten resource links of different types", Args: []string{"count"}},
		{Name: "get-structured-content", Title: "Get Structured Content Tool", Text: "Returns structured content with a schema", Args: []string{"location"}},
		{Name: "get-sum", Title: "Get Sum Tool", Text: "Returns the sum of two numbers", Args: []string{"a", "b"}},
		{Name: "get-tiny-image", Title: "Get Tiny Image Tool", Text: "Returns a tiny logo image"},
		{Name: "gzip-file-as-resource", Title: "GZip File as Resource Tool", Text: "Compresses a file from a URL or data URI", Args: []string{"name", "data", "outputType"}},
		{Name: "trigger-long-running-operation", Title: "Trigger Long Running Operation Tool", Text: "A long operation with progress updates", Args: []string{"duration", "steps"}},
		{Name: "read_text_file", Text: "Read a whole file as text", Args: []string{"path", "head", "tail"}},
		{Name: "listDirectoryWithSizes", Text: "Files and folders with their sizes", Args: []string{"path", "sortBy"}},
		{Name: "create_entities", Text: "Create several new entities in the knowledge graph", Args: []string{"entities"}},
		{Name: "搜索", Text: "搜索文件"},
	}
}

func TestSearch(t *testing.T) {
	docs := everythingDocs()
	x := NewIndex(docs)
	for query, want := range map[string]string{
		"add two numbers":      "get-sum",
		"get_sum":              "get-sum",
		"getSum":               "get-sum",
		"compress files":       "gzip-file-as-resource",
		"environment variable": "get-env",
		"reading files":        "read_text_file",
		"list directory":       "listDirectoryWithSizes",
		"size of the folders":  "listDirectoryWithSizes",
		"entity":               "create_entities",
		"picture":              "get-tiny-image",
		"struct":               "get-structured-content",
		"ECHO":                 "echo",
		"sortBy":               "listDirectoryWithSizes",
		"文件":                   "搜索",
	} {
		hits := x.Search(query, 3)
		if len(hits) == 0 || docs[hits[0].Doc].Name != want {
			t.Errorf("%q: got %v, want %s", query, names(docs, hits), want)
		}
	}
	for _, query := range []string{"", "the", "!?", "zzzzzz", "\xff\xfe"} {
		if hits := x.Search(query, 3); len(hits) > 0 {
			t.Errorf("%q: got %v", query, names(docs, hits))
		}
	}
	all := x.Search("tool get returns file path", 100)
	for limit := range len(all) {
		if got := x.Search("tool get returns file path", limit+1); !slices.Equal(got, all[:limit+1]) {
			t.Errorf("the first %d are %v, want %v", limit+1, got, all[:limit+1])
		}
	}
	if got := x.SearchFunc("add two numbers", 3, func(doc int) bool { return docs[doc].Name != "get-sum" }); len(got) > 0 && docs[got[0].Doc].Name == "get-sum" {
		t.Error("what is not to be kept is found")
	}
	if got := NewIndex(nil).Search("x", 1); len(got) > 0 {
		t.Error(got)
	}
}

func TestSearchIsStable(t *testing.T) {
	docs := slices.Repeat([]Doc{{Name: "same", Text: "the same text"}}, 50)
	for i, hit := range NewIndex(docs).Search("same text", 20) {
		if hit.Doc != i {
			t.Fatalf("hit %d is document %d", i, hit.Doc)
		}
	}
}

func names(docs []Doc, hits []Hit) (all []string) {
	for _, h := range hits {
		all = append(all, fmt.Sprintf("%s %.2f", docs[h.Doc].Name, h.Score))
	}
	return all
}

func TestTerms(t *testing.T) {
	for in, want := range map[string][]string{
		"get-sum":              {"get", "sum"},
		"readTextFiles":        {"read", "text", "file"},
		"HTTPServer v2":        {"http", "server", "v2"},
		"creating created":     {"creat", "creat"},
		"queries running list": {"query", "run", "list"},
		"status classes":       {"status", "class"},
		"Größe":                {"größe"},
		"":                     nil,
		"the of":               nil,
	} {
		if want != nil && want[0] == "größe" {
			want = []string{stem("größe")}
		}
		if got := terms(in); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("get-sum", "Returns the sum", "add sums")
	f.Add("\xff搜Ａ", "ßıſ", "搜")
	f.Fuzz(func(t *testing.T, name, text, query string) {
		docs := []Doc{{Name: name, Text: text}, {Name: "other", Text: query}}
		x := NewIndex(docs)
		for _, hit := range x.Search(query, 5) {
			if hit.Score <= 0 || hit.Doc < 0 || hit.Doc > 1 {
				t.Fatal(hit)
			}
		}
		// What a document is called finds it.
		if len(name) < maxIndexText && len(terms(name)) > 0 && len(terms(name)) <= maxQueryTerms {
			if !slices.ContainsFunc(x.Search(name, 5), func(h Hit) bool { return h.Doc == 0 }) {
				t.Fatalf("%q does not find itself", name)
			}
		}
	})
}

// manyTools are like those of large servers.
func manyTools(n int) []Input {
	verbs := []string{"get", "list", "create", "update", "delete", "search", "move", "merge"}
	nouns := []string{"issue", "pull-request", "repository", "branch", "commit", "file", "user", "comment", "label", "release", "workflow"}
	all := make([]Input, n)
	for i := range all {
		verb, noun := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		all[i] = Input{Name: fmt.Sprintf("%s-%s-%d", verb, noun, i), Title: verb + " " + noun,
			Description: fmt.Sprintf("The tool %ss a %s of the organisation %d, with all its details. It needs the right to do so, and says when it fails.", verb, noun, i),
			InputSchema: json.RawMessage(searchSchema)}
	}
	return all
}

func TestManyTools(t *testing.T) {
	tools := Compile("big", "big", manyTools(10_000))
	docs := make([]Doc, len(tools))
	for i, tool := range tools {
		docs[i] = tool.Doc()
	}
	hits := NewIndex(docs).Search("delete the label 9000", 5)
	if len(hits) != 5 {
		t.Fatal(hits)
	}
	for i, tool := range tools {
		if tool.Original() != docs[i].Name {
			t.Fatal(i)
		}
	}
}
