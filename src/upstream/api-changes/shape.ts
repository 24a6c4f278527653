import { z } from 'zod'
import { isObject } from '../../model/json.ts'

/** The specified shape of the value at `path`. The shape contains its path, so that comparing many values is fast. */
export interface Shape {
  readonly path: string
  /** Names of JSON types, and `integer`. Null allows any type. */
  readonly types: ReadonlySet<string> | null
  readonly format: string | null
  /** Specified values. Null allows any value. */
  readonly values: ReadonlySet<string> | null
  /** Fields of an object. */
  readonly fields: ReadonlyMap<string, Shape>
  /** Names of the required fields of an object. */
  readonly required: readonly string[]
  /** True if an object may have unknown fields. The specification then defines only some of its fields, or none. */
  readonly isOpen: boolean
  /** Shape of the values in an object whose keys are data, such as ids. */
  readonly each: Shape | null
  /** Shape of the items in a list. */
  readonly items: Shape | null
}

/**
 * @returns the shape that a schema describes, including `x-not-shown` (partly specified) and `x-known-values`
 * (specified values).
 */
export function shapeOf(schema: z.ZodType): Shape {
  return shapeAt('', [z.toJSONSchema(schema) as Node])
}

export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

type Node = Readonly<Record<string, unknown>>

function shapeAt(path: string, nodes: readonly Node[]): Shape {
  const all = nodes.flatMap(alternatives)
  const types = new Set(all.flatMap(typesOf))
  const objects = all.filter(({ type }) => type === 'object')
  const lists = all.filter(({ type }) => type === 'array')
  const under = (name: string, parts: readonly unknown[]) => shapeAt(`${path}${name}`, parts.filter(isObject))
  const records = objects.filter((node) => !isObject(node['properties']) && isObject(node['additionalProperties']))
  return {
    path,
    types: all.some((node) => typesOf(node).length === 0) ? null : types,
    format: one(all.map(({ format }) => format)),
    values: valuesOf(all),
    fields: fieldsOf(path, objects),
    required: requiredOf(objects),
    isOpen: objects.some((node) => node['x-not-shown'] !== undefined || Object.keys(propertiesOf(node)).length === 0),
    each:
      records.length === 0
        ? null
        : under(
            '{}',
            records.map((node) => node['additionalProperties']),
          ),
    items:
      lists.length === 0
        ? null
        : under(
            '[]',
            lists.map((node) => node['items']),
          ),
  }
}

/** @returns the alternatives of a node (`anyOf`, `oneOf`). Each inherits the node's `x-not-shown`. */
function alternatives(node: Node): Node[] {
  const choices = node['anyOf'] ?? node['oneOf']
  if (!Array.isArray(choices)) return [node]
  const mark = node['x-not-shown'] === undefined ? {} : { 'x-not-shown': node['x-not-shown'] }
  return choices.filter(isObject).flatMap((choice) => alternatives({ ...mark, ...choice }))
}

function typesOf({ type }: Node): string[] {
  return typeof type === 'string' ? [type] : Array.isArray(type) ? type.filter((each) => typeof each === 'string') : []
}

function propertiesOf(node: Node): Node {
  return isObject(node['properties']) ? node['properties'] : {}
}

function fieldsOf(path: string, objects: readonly Node[]): ReadonlyMap<string, Shape> {
  const names = new Set(objects.flatMap((node) => Object.keys(propertiesOf(node))))
  const nodesOf = (name: string) => objects.map((node) => propertiesOf(node)[name]).filter(isObject)
  return new Map([...names].map((name) => [name, shapeAt(fieldPath(path, name), nodesOf(name))]))
}

function requiredOf([first, ...others]: readonly Node[]): string[] {
  const names = (node: Node | undefined): unknown[] => (Array.isArray(node?.['required']) ? node['required'] : [])
  return names(first).filter((name) => typeof name === 'string' && others.every((other) => names(other).includes(name))) as string[]
}

/** @returns the allowed texts; null if any text is allowed. */
function valuesOf(nodes: readonly Node[]): ReadonlySet<string> | null {
  const lists = nodes.filter((node) => typesOf(node).includes('string')).map(listed)
  if (lists.length === 0 || lists.some((list) => list === null)) return null
  return new Set(lists.flatMap((list) => list ?? []))
}

function listed(node: Node): string[] | null {
  if (typeof node['const'] === 'string') return [node['const']]
  // `x-not-shown` marks a list of values that is incomplete, so any value is allowed.
  if (node['x-not-shown'] !== undefined) return null
  const list = node['x-known-values'] ?? node['enum']
  return Array.isArray(list) ? list.filter((value) => typeof value === 'string') : null
}

function one(formats: readonly unknown[]): string | null {
  const given = [...new Set(formats.filter((format) => typeof format === 'string'))]
  return given.length === 1 ? (given[0] ?? null) : null
}
