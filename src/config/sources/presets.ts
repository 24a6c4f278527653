import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listNames } from '../../base/list-names.ts'
import type { Path } from '../schema/reading.ts'
import { isTree, type Tree } from '../schema/reading.ts'
import { parseYaml } from './yaml.ts'

/** Possible paths of `config/presets/`, because source files and `dist/` are at different depths. */
const FOLDERS = [2, 3, 4].map((levels) => join(import.meta.dirname, '../'.repeat(levels), 'config/presets'))

/** A settings file whose destinations are merged with their presets. */
export interface WithPresets {
  readonly tree: Tree
  /** `problem` continues a sentence that starts with the name of the setting at `path`. */
  readonly problems: readonly { readonly path: Path; readonly problem: string }[]
}

/**
 * Merges each destination with its preset. The destination's values take precedence. Sections are merged key by key,
 * unless the destination's section has a different `type`. All other values, including lists, are replaced as a whole.
 * If a preset's `update` is an alias of its `request`, the destination's `request` replaces both, unless the
 * destination has an `update`.
 * References in a preset are resolved later, together with those of the file.
 */
export function withPresets(tree: Tree): WithPresets {
  const { destinations } = tree
  if (!Array.isArray(destinations)) return { tree, problems: [] }
  const problems: { path: Path; problem: string }[] = []
  const merged = destinations.map((destination: unknown, index) => {
    if (!isTree(destination) || destination['preset'] === undefined || destination['preset'] === null) return destination
    const preset = readPreset(destination['preset'])
    if ('problem' in preset) problems.push({ path: ['destinations', index, 'preset'], problem: preset.problem })
    return 'problem' in preset ? destination : merge(preset.tree, destination)
  })
  return { tree: { ...tree, destinations: merged }, problems }
}

/** @returns the path of each preset file, by the preset's name. */
export function presetFiles(): ReadonlyMap<string, string> {
  const folder = FOLDERS.find((path) => existsSync(path))
  const files = folder === undefined ? [] : readdirSync(folder).filter((file) => /^[a-z0-9][a-z0-9-]*\.yaml$/.test(file))
  return new Map(files.sort().map((file) => [file.slice(0, -'.yaml'.length), join(folder ?? '', file)]))
}

function readPreset(name: unknown): { readonly tree: Tree } | { readonly problem: string } {
  const files = presetFiles()
  const file = typeof name === 'string' ? files.get(name) : undefined
  if (file === undefined) return { problem: `is not a preset; ${listNames([...files.keys()])}` }
  const parsed = parseYaml(readFileSync(file, 'utf8'), 'its file')
  return 'tree' in parsed ? parsed : { problem: `names a broken preset: ${parsed.problems.join('; ')}` }
}

function merge(preset: Tree, destination: Tree): Tree {
  const merged = overlay(preset, destination)
  // True if the preset's `update` is a YAML alias of its `request`.
  const updatesByRequest = preset['update'] !== undefined && preset['update'] === preset['request']
  return updatesByRequest && !isTree(destination['update']) ? { ...merged, update: merged['request'] } : merged
}

function overlay(base: Tree, over: Tree): Tree {
  const merged: Tree = { ...base }
  for (const [key, value] of Object.entries(over)) {
    // A key without a value counts as missing.
    if (value === null) continue
    const preset = merged[key]
    merged[key] = isTree(preset) && isTree(value) && !isOtherType(preset, value) ? overlay(preset, value) : value
  }
  return merged
}

function isOtherType(base: Tree, over: Tree): boolean {
  return over['type'] !== undefined && over['type'] !== null && over['type'] !== base['type']
}
