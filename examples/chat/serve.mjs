// Bundles the page and serves it on this machine:
//
//   npm start [-- PORT]
import { context } from "esbuild";

const page = await context({
  entryPoints: ["src/main.jsx", "src/style.css"],
  outdir: "dist",
  bundle: true,
  format: "esm",
  jsx: "automatic",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
});
const { port } = await page.serve({ servedir: ".", host: "127.0.0.1", port: Number(process.argv[2] ?? 3000) });
console.log(`the chat is at http://127.0.0.1:${port}`);
console.log("it calls the bridge at http://127.0.0.1:8080; append ?bridge=URL for another");
