/** A JSON value. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainObject
export interface PlainObject {
  readonly [key: string]: Plain
}

/** @returns a record's own value, so that names such as `constructor` work. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets an own property, even `__proto__`. */
export function setOwnValue<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, configurable: true, enumerable: true, writable: true })
}
