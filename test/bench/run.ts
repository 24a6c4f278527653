import { cpus, totalmem } from 'node:os'
import { applyBench } from './apply.ts'
import { feedReadBench } from './feeds.ts'
import { fillBench } from './fill.ts'
import { pushBench } from './push.ts'
import { receiveBench } from './receive.ts'
import { reconcileBench } from './reconcile.ts'
import { fullReadBench } from './replay.ts'
import { scaleBench } from './scale.ts'
import { serveBench } from './serve.ts'
import { sizeBench } from './size.ts'
import { startBench } from './start.ts'
import { type BenchRow, tableOf } from './table.ts'

const benches: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  receive: receiveBench,
  serve: serveBench,
  apply: applyBench,
  walk: feedReadBench,
  fill: fillBench,
  replay: fullReadBench,
  reconcile: reconcileBench,
  push: pushBench,
  scale: scaleBench,
  size: sizeBench,
  start: startBench,
}

// `npm run bench` measures everything; `npm run bench -- receive feeds` only those.
const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !(name in benches))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; known: ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}
const rows: BenchRow[] = []
for (const [name, bench] of Object.entries(benches)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  console.error(`${name} …`)
  rows.push(...(await bench()))
}
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB\n`,
)
console.log(tableOf(rows))
process.exit(rows.every((row) => row.met) ? 0 : 1)
