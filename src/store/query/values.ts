import type { Json } from '../../model/json.ts'

/** @returns a text or bigint as a number; as text if a number cannot hold it. */
export function numberOf(value: string | bigint): number | string {
  const number = Number(value)
  const isWhole = typeof value === 'bigint' || /^-?\d+$/.test(value)
  return (isWhole ? Number.isSafeInteger(number) : Number.isFinite(number)) ? number : String(value)
}

/** @returns a driver's value as JSON: bytes as hexadecimal digits, infinity as text. */
export function jsonOf(value: unknown): Json {
  if (typeof value === 'bigint') return numberOf(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString('hex')}'`
  return value as Json
}
