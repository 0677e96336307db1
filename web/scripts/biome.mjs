// Runs Biome from its package for this machine: `node scripts/biome.mjs ci .`
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(
  new URL(`../node_modules/@biomejs/cli-${process.platform}-${process.arch}/biome`, import.meta.url),
);
if (!existsSync(program)) {
  console.error(
    `Biome is not installed for ${process.platform} ${process.arch}: run npm ci on Linux, or npx @biomejs/biome here.`,
  );
  process.exit(1);
}
process.exit(spawnSync(program, process.argv.slice(2), { stdio: 'inherit' }).status ?? 1);
