# Leaves links to what is not its own, in place of its own files, and takes all rights.
# expect: finished
ln -s / root; ln -s .. up; ln -s ../.. engine; ln -s loop loop
rm -f args.json script; ln -s ../.. args.json; ln -s /etc script
mkdir -p a/b; ln -s / a/b/root; touch a/b/f; chmod 0 a/b a .
exit 0
