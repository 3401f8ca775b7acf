// tagwright from Java, with JNA: java -cp jna.jar Tagwright.java MODEL "Some text."
// The property jna.library.path is the folder of libtagwright, if it is not installed.
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A model; may be used by several threads. */
public final class Tagwright implements AutoCloseable {
  /** The functions of tagwright.h that are used here; size_t is a long. */
  public interface Api extends Library {
    Api LIBRARY = Native.load("tagwright", Api.class);
    int PROBABILITIES = 1;

    @Structure.FieldOrder({"size", "k", "threads", "flags", "decoder", "tokenizer"})
    class Options extends Structure {
      public int size, k, threads, flags;
      public String decoder, tokenizer;
    }

    String tw_error();
    int tw_model_load(String path, PointerByReference out);
    void tw_model_free(Pointer model);
    int tw_model_probabilistic(Pointer model);
    int tw_tag_text(Pointer model, byte[] text, long bytes, Options options, PointerByReference out);
    void tw_result_free(Pointer result);
    long tw_result_sentences(Pointer result);
    long tw_result_tokens(Pointer result, long sentence);
    long tw_result_labellings(Pointer result, long sentence);
    int tw_result_offsets(Pointer result, long sentence, long token, LongByReference begin, LongByReference end);
    double tw_result_score(Pointer result, long sentence, long labelling);
    double tw_result_probability(Pointer result, long sentence, long labelling);
    Pointer tw_result_label(Pointer result, long sentence, long labelling, long token);
  }

  /** A labelling of a sentence. */
  public record Labelling(double score, double probability, List<String> tokens, List<String> labels) {}

  private final Pointer handle;

  public Tagwright(String path) {
    PointerByReference out = new PointerByReference();
    check(Api.LIBRARY.tw_model_load(path, out));
    handle = out.getValue();
  }

  private static void check(int status) {
    if (status != 0) throw new IllegalArgumentException(Api.LIBRARY.tw_error());
  }

  /** Returns the k best labellings of each sentence. */
  public List<List<Labelling>> tag(String text, int k) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    Api.Options options = new Api.Options();
    options.size = options.size();
    options.k = k;
    options.flags = Api.LIBRARY.tw_model_probabilistic(handle) * Api.PROBABILITIES;
    PointerByReference out = new PointerByReference();
    check(Api.LIBRARY.tw_tag_text(handle, bytes, bytes.length, options, out));
    Pointer result = out.getValue();
    try {
      List<List<Labelling>> made = new ArrayList<>();
      for (long s = 0; s < Api.LIBRARY.tw_result_sentences(result); ++s) made.add(labellings(result, s, bytes));
      return made;
    } finally {
      Api.LIBRARY.tw_result_free(result);
    }
  }

  private static List<Labelling> labellings(Pointer result, long s, byte[] text) {
    LongByReference begin = new LongByReference(), end = new LongByReference();
    List<String> tokens = new ArrayList<>();
    for (long t = 0; t < Api.LIBRARY.tw_result_tokens(result, s); ++t) {
      Api.LIBRARY.tw_result_offsets(result, s, t, begin, end);
      int length = (int) (end.getValue() - begin.getValue());
      tokens.add(new String(text, (int) begin.getValue(), length, StandardCharsets.UTF_8));
    }
    List<Labelling> made = new ArrayList<>();
    for (long p = 0; p < Api.LIBRARY.tw_result_labellings(result, s); ++p) {
      List<String> labels = new ArrayList<>();
      for (int t = 0; t < tokens.size(); ++t)
        labels.add(Api.LIBRARY.tw_result_label(result, s, p, t).getString(0, "UTF-8"));
      double score = Api.LIBRARY.tw_result_score(result, s, p);
      made.add(new Labelling(score, Api.LIBRARY.tw_result_probability(result, s, p), tokens, labels));
    }
    return made;
  }

  @Override
  public void close() {
    Api.LIBRARY.tw_model_free(handle);
  }

  public static void main(String[] arguments) {
    int k = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
    try (Tagwright model = new Tagwright(arguments[0])) {
      for (List<Labelling> sentence : model.tag(arguments[1], k))
        for (Labelling one : sentence) {
          StringBuilder line = new StringBuilder();
          for (int t = 0; t < one.tokens().size(); ++t)
            line.append(' ').append(one.tokens().get(t)).append('/').append(one.labels().get(t));
          System.out.println(one.score() + " " + one.probability() + line);
        }
    }
  }
}
