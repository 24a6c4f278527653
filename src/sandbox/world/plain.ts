/** A value that JSON keeps as it is. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainObject
export interface PlainObject {
  readonly [key: string]: Plain
}
