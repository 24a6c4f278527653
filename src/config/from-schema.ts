import { z } from 'zod'
import type { Secret, SecretText } from '../base/secret.ts'
import { field } from './schema/reading.ts'
import { metaOf, unwrapped } from './schema/unwrapped.ts'
import type { MsMark } from './schema/values.ts'

/**
 * Checked settings in the form that the program uses. Keys are in camel case, and names of durations end in `Ms`.
 * A missing value without a default is null.
 */
export type ConfigOf<T> = T extends readonly (infer Item)[]
  ? readonly ConfigOf<Item>[]
  : T extends Secret
    ? SecretText
    : MsMark extends keyof T
      ? number
      : T extends object
        ? string extends keyof T
          ? Readonly<T>
          : { readonly [K in keyof T & string as NameOf<K, T[K]>]-?: ConfigOf<Exclude<T[K], undefined>> | NullFor<T[K]> }
        : T

type NullFor<T> = undefined extends T ? null : never
type NameOf<K extends string, T> = `${Camel<K>}${true extends IsMs<Exclude<T, null | undefined>> ? 'Ms' : ''}`
type IsMs<T> = T extends readonly (infer Item)[] ? IsMs<Item> : MsMark extends keyof T ? true : false
type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K

/** @param values output of `schema`. @returns the values in the form of `ConfigOf`. */
export function configOf<S extends z.ZodType>(schema: S, values: z.output<S>): ConfigOf<z.output<S>> {
  return formed(schema, values) as ConfigOf<z.output<S>>
}

function formed(schema: z.core.$ZodType, values: unknown): unknown {
  if (values === undefined) return null
  if (isConverted(schema)) return values
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray) return (values as readonly unknown[]).map((item) => formed(inner.element, item))
  if (inner instanceof z.ZodDiscriminatedUnion) return formed(alternativeOf(inner, values), values)
  if (!(inner instanceof z.ZodObject)) return values
  return Object.fromEntries(Object.entries(inner.shape).map(([key, part]) => [nameOf(key, part), formed(part, field(values, key))]))
}

/** True if a transform of the schema has already converted the value to its final form. */
function isConverted(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return isConverted(schema.unwrap())
  return schema instanceof z.ZodPipe && schema.out instanceof z.ZodTransform
}

function alternativeOf(union: z.ZodDiscriminatedUnion, values: unknown): z.core.$ZodType {
  const { discriminator } = union.def
  const isTaken = (option: z.core.$ZodType) =>
    option instanceof z.ZodObject && (option.shape[discriminator] as z.ZodType).safeParse(field(values, discriminator)).success
  return union.options.find(isTaken) ?? union
}

function nameOf(key: string, schema: z.core.$ZodType): string {
  const camel = key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  const inner = unwrapped(schema)
  return (inner instanceof z.ZodArray ? metaOf(inner.element) : metaOf(schema)).unit === 'ms' ? `${camel}Ms` : camel
}
