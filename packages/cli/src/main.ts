process.stdout.write('samekey\n');
