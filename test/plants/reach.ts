import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Text of a file that names another one: an import, a child process, a worker thread. Paths of `src` and `test` begin at the root. */
const NAMED = /['"`]((?:\.{1,2}|src|test|migrations)\/[\w./-]+\.(?:tsx?|js))['"`]/g
const TYPES_ONLY = /import type [^;]*? from '[^']*'/g

/** @returns a function that finds every file which a file of the tree at `root` leads to, itself included; all below `root`. */
export function reachIn(root: string): (file: string) => ReadonlySet<string> {
  const named = new Map<string, readonly string[]>()
  const namedIn = (file: string): readonly string[] => {
    const known = named.get(file)
    if (known !== undefined) return known
    const text = readFileSync(join(root, file), 'utf8').replace(TYPES_ONLY, '')
    const found = [...text.matchAll(NAMED)].flatMap(([, path = '']) => {
      const at = path.startsWith('.') ? relative(root, join(root, dirname(file), path)) : path
      return [at, at.replace(/\.js$/, '.ts')].filter((each) => existsSync(join(root, each))).slice(0, 1)
    })
    named.set(file, found)
    return found
  }
  return (file) => {
    const reached = new Set([file])
    for (const each of reached) for (const next of namedIn(each)) reached.add(next)
    return reached
  }
}
