import { z } from 'zod'
import { isObject } from '../../model/json.ts'

/** What the specification shows of the value at one path. Made once for each resource, so that looking at an answer builds no paths. */
export interface Shape {
  readonly path: string
  /** JSON types, `integer` among them; null when any may come. */
  readonly types: ReadonlySet<string> | null
  readonly format: string | null
  /** The vocabulary that the specification lists; null when it lists none. */
  readonly values: ReadonlySet<string> | null
  /** Of an object: its fields. */
  readonly fields: ReadonlyMap<string, Shape>
  /** Of an object: the fields that always come. */
  readonly required: readonly string[]
  /** Of an object: further fields may come, because they are not shown or their names are data. */
  readonly isOpen: boolean
  /** Of an object whose keys are data: each value. */
  readonly each: Shape | null
  /** Of a list: each item. */
  readonly items: Shape | null
}

/** @returns what the schema of an answer shows, with the marks for what is not shown and for open vocabularies. */
export function shapeOf(schema: z.ZodType): Shape {
  return shapeAt('', [z.toJSONSchema(schema) as Node])
}

export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

type Node = Readonly<Record<string, unknown>>

/** @param nodes JSON schemas, of which a value has to fit one. */
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

/** A mark on a choice of several shapes holds for each of them. */
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

/** What all of the alternatives require. */
function requiredOf([first, ...others]: readonly Node[]): string[] {
  const names = (node: Node | undefined): unknown[] => (Array.isArray(node?.['required']) ? node['required'] : [])
  return names(first).filter((name) => typeof name === 'string' && others.every((other) => names(other).includes(name))) as string[]
}

/** Any text may come when one of the alternatives lists no values. */
function valuesOf(nodes: readonly Node[]): ReadonlySet<string> | null {
  const lists = nodes.filter((node) => typesOf(node).includes('string')).map(listed)
  if (lists.length === 0 || lists.some((list) => list === null)) return null
  return new Set(lists.flatMap((list) => list ?? []))
}

function listed(node: Node): string[] | null {
  if (typeof node['const'] === 'string') return [node['const']]
  // A vocabulary of which only a part is shown surprises nobody.
  if (node['x-not-shown'] !== undefined) return null
  const list = node['x-known-values'] ?? node['enum']
  return Array.isArray(list) ? list.filter((value) => typeof value === 'string') : null
}

function one(formats: readonly unknown[]): string | null {
  const given = [...new Set(formats.filter((format) => typeof format === 'string'))]
  return given.length === 1 ? (given[0] ?? null) : null
}
