import { createInterface } from 'node:readline'
import { Templates } from '../../../../src/push/http/templates.ts'

/* Evaluates expressions as short commands do. Nothing else keeps this program alive, unless it waits for a line. */

const ENDLESS = '($loop := function($n) { $loop($n + 1) }; $loop(0))'
const expressions = { fine: 'n', endless: ENDLESS, hungry: '$pad("x", 400000000)' }
const open = () =>
  new Templates(
    Object.entries(expressions).map(([name, text]) => ({ name, text })),
    30_000,
  )
const templates = open()
const fine = async () => (await templates.evaluate(['fine'], { n: 1 }))[0] === 1
const fails = (value: Promise<unknown>) =>
  value.then(
    () => false,
    () => true,
  )

const ways: Readonly<Record<string, () => Promise<boolean>>> = {
  evaluates: fine,
  'closes while the process starts': async () => {
    const failed = fails(templates.evaluate(['fine'], { n: 1 }))
    templates.close()
    return await failed
  },
  'closes while it evaluates': async () => {
    await fine()
    const failed = fails(templates.evaluate(['endless'], {}))
    templates.close()
    return await failed
  },
  // As `destination verify` does. An unneeded second process may have started by then.
  'closes after several': async () => {
    await Promise.all([fine(), fine(), fine(), fine()])
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    templates.close()
    return true
  },
  'goes on after an end': async () => {
    const other = open()
    await fine()
    const failed = fails(other.evaluate(['endless'], {}))
    other.close()
    return (await failed) && (await fine())
  },
  'uses too much memory': async () => (await fails(templates.evaluate(['hungry'], {}))) && (await fine()),
  endless: async () => {
    createInterface({ input: process.stdin }).on('line', () => process.exit())
    await fine()
    const value = templates.evaluate(['endless'], {})
    process.stdout.write('evaluating\n')
    return await value.then(() => true)
  },
}
const isRight = await ways[process.argv[2] ?? '']?.()
process.stdout.write(`result ${isRight === true ? 'as expected' : 'wrong'}\n`)
