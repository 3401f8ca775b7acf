# tagwright from Ruby, with fiddle of the standard library: ruby tagwright.rb MODEL "Some text."
# The environment variable TAGWRIGHT_LIBRARY is the path of libtagwright, if it is not installed.
require "fiddle"
require "fiddle/import"

module Tagwright
  extend Fiddle::Importer
  dlload ENV.fetch("TAGWRIGHT_LIBRARY", "libtagwright.so.1")

  Options = struct ["unsigned int size", "unsigned int k", "unsigned int threads", "unsigned int flags",
                    "char* decoder", "char* tokenizer"]
  PROBABILITIES = 1

  extern "char* tw_error()"
  extern "int tw_model_load(char*, void**)"
  extern "void tw_model_free(void*)"
  extern "int tw_model_probabilistic(void*)"
  extern "int tw_tag_text(void*, char*, size_t, void*, void**)"
  extern "void tw_result_free(void*)"
  extern "size_t tw_result_sentences(void*)"
  extern "size_t tw_result_tokens(void*, size_t)"
  extern "size_t tw_result_labellings(void*, size_t)"
  extern "int tw_result_offsets(void*, size_t, size_t, size_t*, size_t*)"
  extern "double tw_result_score(void*, size_t, size_t)"
  extern "double tw_result_probability(void*, size_t, size_t)"
  extern "char* tw_result_label(void*, size_t, size_t, size_t)"

  class Error < StandardError; end

  # Calls a function that returns a status and makes a handle.
  def self.made(name, *arguments)
    out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    raise Error, tw_error.to_s.force_encoding("UTF-8") unless send(name, *arguments, out).zero?

    out.ptr
  end

  class Model
    def initialize(path)
      @handle = Tagwright.made(:tw_model_load, path)
      ObjectSpace.define_finalizer(self, self.class.finalizer(@handle))
    end

    def self.finalizer(handle)
      proc { Tagwright.tw_model_free(handle) }
    end

    # Returns the k best labellings of each sentence: score, probability, and pairs of token and label.
    def tag(text, k: 1)
      options = Options.malloc(Fiddle::RUBY_FREE)
      options.size, options.k, options.threads = Options.size, k, 1
      options.flags = Tagwright.tw_model_probabilistic(@handle) * PROBABILITIES
      options.decoder = options.tokenizer = nil
      result = Tagwright.made(:tw_tag_text, @handle, text, text.bytesize, options)
      (0...Tagwright.tw_result_sentences(result)).map { |s| labellings(result, s, text) }
    ensure
      Tagwright.tw_result_free(result) if result
    end

    private

    def labellings(result, s, text)
      words = (0...Tagwright.tw_result_tokens(result, s)).map { |t| token(result, s, t, text) }
      (0...Tagwright.tw_result_labellings(result, s)).map do |p|
        labels = words.each_index.map { |t| Tagwright.tw_result_label(result, s, p, t).to_s.force_encoding("UTF-8") }
        { score: Tagwright.tw_result_score(result, s, p), probability: Tagwright.tw_result_probability(result, s, p),
          tokens: words.zip(labels) }
      end
    end

    def token(result, s, t, text)
      place = Fiddle::Pointer.malloc(2 * Fiddle::SIZEOF_SIZE_T, Fiddle::RUBY_FREE)
      Tagwright.tw_result_offsets(result, s, t, place, place + Fiddle::SIZEOF_SIZE_T)
      first, last = place[0, 2 * Fiddle::SIZEOF_SIZE_T].unpack("J2")
      text.byteslice(first, last - first)
    end
  end
end

if $PROGRAM_NAME == __FILE__
  Tagwright::Model.new(ARGV[0]).tag(ARGV[1], k: Integer(ARGV.fetch(2, "1"))).each do |labellings|
    labellings.each do |one|
      puts format("%.17g %.17g %s", one[:score], one[:probability], one[:tokens].map { |pair| pair.join("/") }.join(" "))
    end
  end
end
