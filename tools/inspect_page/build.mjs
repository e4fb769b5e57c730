// build.mjs: bundles the page into one HTML file, with the licenses of what it contains. `--tests` bundles the unit tests for node instead.
// The output depends on the sources and the lock file only, so building again gives the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);

if (process.argv.includes("--tests")) {
  rmSync("build", { recursive: true, force: true });
  const entryPoints = readdirSync("tests")
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("tests", name));
  await build({ entryPoints, bundle: true, platform: "node", format: "esm", outdir: "build", outExtension: { ".js": ".mjs" } });
  process.exit(0);
}

const out = process.argv[2] ?? join(here, "../../undertow/inspect/page");
const options = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  charset: "utf8",
  legalComments: "none",
  target: ["chrome110", "firefox115", "safari16.4"],
  loader: { ".woff2": "dataurl" },
};
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife" });
const style = await build({ ...options, entryPoints: ["src/style.css"] });

// A closing tag inside a string would end the element early.
const code = script.outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const css = style.outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(code)}`,
  `style-src ${hash(css)}`,
  "font-src data:",
  "img-src data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = { "@CSP@": policy, "@STYLE@": css, "@SCRIPT@": code };
const page = readFileSync("src/page.html", "utf8").replace(/@[A-Z]+@/g, (name) => parts[name]);

// The licenses of the packages whose files are inside.
const packages = new Set();
for (const { metafile } of [script, style]) {
  for (const file of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(relative(here, file));
    if (match) packages.add(match[1]);
  }
}
const licenses = [...packages].sort().map((name) => {
  const folder = join("node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no license file`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "page.html"), page);
writeFileSync(join(out, "LICENSES.txt"), `page.html contains these packages.\n\n${licenses.join(`\n${"-".repeat(80)}\n\n`)}`);
console.log(`${relative(process.cwd(), join(out, "page.html"))}: ${page.length} characters, ${packages.size} packages`);
