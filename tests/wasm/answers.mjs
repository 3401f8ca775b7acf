// node answers.mjs PACKAGE INPUT: tags the sentences of a JSON file with its models and prints the answers as JSON.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [folder, input] = process.argv.slice(2);
const { TagwrightError, decode, load, marginals, tokenize, version } = await import(pathToFileURL(`${folder}/index.js`));
const given = JSON.parse(await readFile(input, "utf8"));
const answers = { version: await version(), models: [], errors: [] };
for (const { path, sentences, k } of given.models) {
  const model = await load(await readFile(path));
  const began = performance.now();
  const found = model.tag(sentences, { k });
  answers.models.push({
    labels: model.labels, probabilistic: model.probabilistic, columns: model.columns, seconds: (performance.now() - began) / 1e3,
    found: found.map((one) => one.labellings.map((own) => [own.labels, own.score, own.probability ?? 0, own.labelProbabilities ?? null])),
  });
  if (given.text && model.columns === 1) answers.text = model.tag(given.text, { k: 2 });
  if (given.explain && model.columns === 1) answers.explain = model.explain(...given.explain);
  model.free();
}
answers.tokens = await tokenize(given.text);
const { nodes, edges, L } = given.scores;
answers.paths = await decode(nodes, edges, L, { k: 3 });
const sums = await marginals(nodes, edges, L);
answers.sums = { nodes: [...sums.nodes], edges: [...sums.edges], logZ: sums.logZ };
for (const wrong of [() => load(new Uint8Array(10)), () => decode([NaN], [0], 1), () => tokenize("a", "greek")])
  await wrong().catch((error) => answers.errors.push([error instanceof TagwrightError, error.status, error.message]));
process.stdout.write(JSON.stringify(answers));
