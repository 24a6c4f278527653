import type { Json } from '../../model/json.ts'

/** @returns the value as a number, or as text if a number can't represent it exactly. */
export function numberOf(value: string | bigint): number | string {
  const number = Number(value)
  const isWhole = typeof value === 'bigint' || /^-?\d+$/.test(value)
  return (isWhole ? Number.isSafeInteger(number) : Number.isFinite(number)) ? number : String(value)
}

/** @returns a driver's value as JSON. Bytes become hex digits, and infinity becomes text. */
export function jsonOf(value: unknown): Json {
  if (typeof value === 'bigint') return numberOf(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`
  return value as Json
}
