import type { Json } from '../../model/json.ts'

/**
 * @returns the value as a number if it is a safe integer, or a finite number with decimals. Otherwise the value as
 * text.
 */
export function numberOf(value: string | bigint): number | string {
  const number = Number(value)
  const isWhole = typeof value === 'bigint' || /^-?\d+$/.test(value)
  return (isWhole ? Number.isSafeInteger(number) : Number.isFinite(number)) ? number : String(value)
}

/** Converts a driver's value to JSON. Bytes become hex digits, as in `x'0a'`. Infinity becomes text. */
export function jsonOf(value: unknown): Json {
  if (typeof value === 'bigint') return numberOf(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`
  return value as Json
}
