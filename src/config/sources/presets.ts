import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listNames } from '../../base/list-names.ts'
import type { Path } from './names.ts'
import { isTree, type Tree } from './reading.ts'
import { parseYaml } from './yaml.ts'

/** `config/presets/` of the project: some levels above this file, fewer in the sources than in what is compiled into `dist/`. */
const FOLDERS = [2, 3, 4].map((levels) => join(import.meta.dirname, '../'.repeat(levels), 'config/presets'))

/** A settings file in which every destination that names a preset stands on top of it, and what was wrong with the names. */
export interface WithPresets {
  readonly tree: Tree
  /** What follows the name of the setting at `path`. */
  readonly problems: readonly { readonly path: Path; readonly problem: string }[]
}

/**
 * Lays the keys of each destination over those of the preset that it names: sections are merged, key by key, unless the destination gives
 * one another `type`, whose keys are others; and whatever else it says, a list too, takes the place of what the preset says. References of
 * a preset are resolved like those of the file.
 */
export function withPresets(tree: Tree): WithPresets {
  const { destinations } = tree
  if (!Array.isArray(destinations)) return { tree, problems: [] }
  const problems: { path: Path; problem: string }[] = []
  const merged = destinations.map((destination: unknown, index) => {
    if (!isTree(destination) || destination['preset'] === undefined || destination['preset'] === null) return destination
    const preset = readPreset(destination['preset'])
    if ('problem' in preset) problems.push({ path: ['destinations', index, 'preset'], problem: preset.problem })
    return 'problem' in preset ? destination : overlay(preset.tree, destination)
  })
  return { tree: { ...tree, destinations: merged }, problems }
}

/** @returns the files of all presets, by their names. */
export function presetFiles(): ReadonlyMap<string, string> {
  const folder = FOLDERS.find((path) => existsSync(path))
  const files = folder === undefined ? [] : readdirSync(folder).filter((file) => /^[a-z0-9][a-z0-9-]*\.yaml$/.test(file))
  return new Map(files.sort().map((file) => [file.slice(0, -'.yaml'.length), join(folder ?? '', file)]))
}

function readPreset(name: unknown): { readonly tree: Tree } | { readonly problem: string } {
  const files = presetFiles()
  const file = typeof name === 'string' ? files.get(name) : undefined
  if (file === undefined) return { problem: `is no preset; ${listNames([...files.keys()])}` }
  const parsed = parseYaml(readFileSync(file, 'utf8'), 'its file')
  return 'tree' in parsed ? parsed : { problem: `names a preset of which ${parsed.problems.join('; ')}` }
}

function overlay(base: Tree, over: Tree): Tree {
  const merged: Tree = { ...base }
  for (const [key, value] of Object.entries(over)) {
    // A key without a value counts as left out.
    if (value === null) continue
    const below = merged[key]
    merged[key] = isTree(below) && isTree(value) && !isOtherType(below, value) ? overlay(below, value) : value
  }
  return merged
}

function isOtherType(below: Tree, over: Tree): boolean {
  return over['type'] !== undefined && over['type'] !== null && over['type'] !== below['type']
}
