/** What is made of names that come again and again, made once. */

/** Far more than there are: names of members, fields and headers come from this source and the configuration. Later ones are made each time. */
const NAMES_MAX = 1000;

/** The function, which remembers what it made of the first names. Undefined is not remembered. */
export function byName<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  // hot: per request
  return (name) => {
    let value = made.get(name);
    if (value === undefined) {
      value = make(name);
      if (made.size < NAMES_MAX) made.set(name, value);
    }
    return value;
  };
}
