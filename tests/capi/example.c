/* Tags the lines of a text and prints a token, its label and its probability per line; k labellings per sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tagwright.h"

static int failed(void) {
  fprintf(stderr, "%s\n", tw_error());
  return 1;
}

static char* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes = NULL;
  size_t room = 0, got;
  *size = 0;
  if (!file) return NULL;
  do {
    room = 2 * room + 4096;
    bytes = realloc(bytes, room);
    got = bytes ? fread(bytes + *size, 1, room - *size, file) : 0;
    *size += got;
  } while (*size == room);
  fclose(file);
  return bytes;
}

static void print(const tw_result* result, const char* text) {
  size_t s, p, t, begin, end;
  for (s = 0; s < tw_result_sentences(result); ++s)
    for (p = 0; p < tw_result_labellings(result, s); ++p) {
      const double* probability = tw_result_label_probabilities(result, s, p);
      printf("# %.17g %.17g\n", tw_result_score(result, s, p), tw_result_probability(result, s, p));
      for (t = 0; t < tw_result_tokens(result, s); ++t) {
        tw_result_offsets(result, s, t, &begin, &end);
        printf("%.*s\t%s\t%.17g\n", (int)(end - begin), text + begin, tw_result_label(result, s, p, t),
               probability ? probability[t] : 0.0);
      }
      printf("\n");
    }
}

int main(int argc, char** argv) {
  tw_model* model = NULL;
  tw_result* result = NULL;
  tw_options options;
  size_t size = 0, text_size = 0;
  char *bytes, *text;
  if (argc != 4) return 2;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.k = (uint32_t)atoi(argv[3]);
  bytes = read_all(argv[1], &size);
  text = read_all(argv[2], &text_size);
  if (!bytes || !text) return 2;
  if (tw_model_from_memory(bytes, size, &model) != TW_OK) return failed();
  free(bytes);
  if (tw_model_probabilistic(model)) options.flags = TW_PROBABILITIES;
  if (tw_tag_text(model, text, text_size, &options, &result) != TW_OK) return failed();
  tw_model_free(model);
  print(result, text);
  tw_result_free(result);
  free(text);
  return 0;
}
